(() => {
  'use strict';
  const graph = JSON.parse(document.getElementById('graph').textContent);
  const { parent, frame, total, own, baseline_total: before, baseline_own: ownBefore } = graph.nodes;
  const names = graph.frames.name, kinds = graph.frames.kind;
  const compares = before !== null, size = parent.length;
  const sum = Math.max(graph.sum, 1), sumBefore = Math.max(graph.baseline_sum || 0, 1);
  const byId = id => document.getElementById(id);
  const canvas = byId('flame'), pen = canvas.getContext('2d'), told = byId('told');
  const ROW = 19, LEAST = 0.4, FONT = '12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace';

  // Nodes stand before what is below them, so one pass places all.
  const width = new Float64Array(size), left = new Float64Array(size), used = new Float64Array(size);
  const depth = new Uint16Array(size), end = new Uint32Array(size), last = new Int32Array(size).fill(-1);
  const previous = new Int32Array(size).fill(-1), next = new Int32Array(size).fill(-1), first = new Int32Array(size).fill(-1);
  for (let n = 0; n < size; n++) {
    width[n] = compares ? (total[n] / sum + before[n] / sumBefore) / 2 : total[n] / sum;
    if (n > 0) {
      const p = parent[n];
      depth[n] = depth[p] + 1;
      left[n] = left[p] + used[p];
      used[p] += width[n];
      if (last[p] >= 0) { previous[n] = last[p]; next[last[p]] = n; } else first[p] = n;
      last[p] = n;
    }
  }
  for (let n = size - 1; n >= 0; n--) {
    end[n] = Math.max(end[n], n + 1);
    if (n > 0) end[parent[n]] = Math.max(end[parent[n]], end[n]);
  }

  const madeStage = /GeneratedIteratorForCodegenStage(\d+)/;
  const isMade = names.map(name => name.includes('GeneratedClass') || madeStage.test(name));
  const hash = text => { let h = 0; for (let i = 0; i < text.length; i++) h = (h * 31 + text.charCodeAt(i)) | 0; return h >>> 0; };
  const shade = names.map(name => (hash(name.split('.').slice(0, -2).join('.')) % 100) / 100);
  const shorter = names.map((name, f) => kinds[f] === 'java' ? name.split('.').slice(-2).join('.') : name.replace(/^.*\.so[.\d]*\.(?=\D)/, ''));
  let colours = {};
  const mix = (a, b, share) => {
    const parts = c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16));
    const [p, q] = [parts(a), parts(b)];
    return `rgb(${p.map((v, i) => Math.round(v + (q[i] - v) * share)).join(',')})`;
  };
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['bg', 'panel', 'ink', 'mute', 'ember', 'java', 'java2', 'made', 'native', 'kernel', 'class', 'mark', 'hit', 'on', 'less', 'more', 'same'])
      colours[name] = style.getPropertyValue('--' + name).trim();
    // "#fff" as six digits, for mixing.
    for (const name in colours) if (colours[name].length === 4) colours[name] = '#' + [...colours[name].slice(1)].map(c => c + c).join('');
    fills.clear();
  };
  const fills = new Map();
  const fill = n => {
    if (compares) {
      const change = total[n] / sum - before[n] / sumBefore;
      return mix(colours.same, change > 0 ? colours.more : colours.less, Math.min(1, Math.sqrt(Math.abs(change) * 4)));
    }
    const f = frame[n];
    if (!fills.has(f)) {
      const kind = kinds[f];
      fills.set(f, n === 0 || kind === 'mark' ? colours.mark : kind === 'java' ? (isMade[f] ? colours.made : mix(colours.java, colours.java2, shade[f])) : colours[kind]);
    }
    return fills.get(f);
  };

  const number = v => v.toLocaleString('en-US');
  const amount = v => {
    if (graph.unit === 'samples') return number(v);
    const steps = graph.unit === 'bytes' ? [['B', 1024], ['KiB', 1024], ['MiB', 1024], ['GiB', 1024], ['TiB', Infinity]] : [['ns', 1000], ['µs', 1000], ['ms', 1000], ['s', Infinity]];
    for (const [unit, most] of steps) { if (v < most) return (v < 10 && !Number.isInteger(v) ? v.toFixed(1) : Math.round(v).toLocaleString('en-US')) + ' ' + unit; v /= most; }
    return String(v);
  };
  const share = part => { const p = part * 100; return (p > 0 && p < 0.01 ? '<0.01' : p.toFixed(p < 10 ? 2 : 1)) + ' %'; };

  let zoom = 0, chosen = -1, pattern = null, hits = null, shownRows = 0;
  const box = n => {
    const scale = canvas.clientWidth / width[zoom];
    return depth[n] < depth[zoom] ? [0, canvas.clientWidth] : [(left[n] - left[zoom]) * scale, width[n] * scale];
  };
  const onPath = n => { let at = zoom; while (depth[at] > depth[n]) at = parent[at]; return at === n; };
  // Calls `each` for all nodes that are wide enough to be seen.
  const visible = each => {
    const scale = canvas.clientWidth / width[zoom];
    for (let at = zoom; ;) { if (at !== zoom) each(at); if (at === 0) break; at = parent[at]; }
    for (let n = zoom; n < end[zoom];) {
      if (width[n] * scale < LEAST) { n = end[n]; continue; }
      each(n);
      n++;
    }
  };
  const draw = () => {
    const ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth;
    let rows = 0;
    visible(n => { rows = Math.max(rows, depth[n] + 1); });
    shownRows = rows;
    const high = rows * ROW + 1;
    canvas.style.height = high + 'px';
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colours.panel;
    pen.fillRect(0, 0, wide, high);
    pen.font = FONT;
    pen.textBaseline = 'middle';
    const letter = pen.measureText('m').width;
    visible(n => {
      const [x, w] = box(n), y = depth[n] * ROW, isHit = hits && hits[frame[n]];
      pen.globalAlpha = depth[n] < depth[zoom] ? 0.6 : hits && !isHit ? 0.35 : 1;
      pen.fillStyle = isHit ? colours.hit : fill(n);
      pen.fillRect(x, y + 1, Math.max(w - (w > 3 ? 1 : 0), LEAST), ROW - 1);
      pen.globalAlpha = depth[n] < depth[zoom] ? 0.8 : 1;
      const room = Math.floor((w - 8) / letter);
      if (room >= 3) {
        const f = frame[n], name = names[f].length <= room ? names[f] : shorter[f];
        pen.fillStyle = isHit ? '#1b1f24' : colours.on;
        pen.fillText(name.length <= room ? name : name.slice(0, room - 1) + '…', x + 4, y + ROW / 2 + 1);
      }
    });
    pen.globalAlpha = 1;
    if (chosen >= 0 && (inZoom(chosen) || onPath(chosen))) {
      const [x, w] = box(chosen);
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, depth[chosen] * ROW + 1, Math.max(w - 2, 1), ROW - 1);
    }
    byId('reset').disabled = zoom === 0;
    byId('up').disabled = zoom === 0;
  };
  const inZoom = n => n >= zoom && n < end[zoom];
  const tell = n => {
    told.replaceChildren();
    if (n < 0) return;
    const strong = document.createElement('b');
    strong.textContent = names[frame[n]];
    let text = ` — ${amount(total[n])}, ${share(total[n] / sum)} of all`;
    if (compares) text += `; before ${amount(before[n])}, ${share(before[n] / sumBefore)}`;
    if (own[n] > 0 && own[n] < total[n]) text += `; in it alone ${amount(own[n])}, ${share(own[n] / sum)}`;
    if (n > 0 && zoom > 0 && inZoom(n)) text += `; ${share(total[n] / Math.max(total[zoom], 1))} of what is shown`;
    told.append(strong, text);
  };
  const choose = n => {
    chosen = n;
    tell(n);
    draw();
    const place = canvas.getBoundingClientRect(), y = place.top + depth[n] * ROW;
    if (y < 60 || y > innerHeight - 60) scrollBy({ top: y - innerHeight / 2 });
  };
  const zoomTo = n => { zoom = n; draw(); tell(chosen >= 0 ? chosen : n); };
  const at = event => {
    const place = canvas.getBoundingClientRect();
    const x = event.clientX - place.left, row = Math.floor((event.clientY - place.top) / ROW);
    if (row < 0 || row >= shownRows) return -1;
    let found = -1;
    visible(n => { if (depth[n] === row) { const [from, w] = box(n); if (x >= from && x < from + Math.max(w, 1)) found = n; } });
    return found;
  };

  canvas.addEventListener('mousemove', event => { const n = at(event); canvas.title = n < 0 ? '' : names[frame[n]]; if (n >= 0) tell(n); });
  canvas.addEventListener('mouseleave', () => tell(chosen >= 0 ? chosen : zoom));
  canvas.addEventListener('click', event => { const n = at(event); if (n >= 0) { chosen = n; zoomTo(n); tell(n); } });
  canvas.addEventListener('keydown', event => {
    const from = chosen >= 0 ? chosen : zoom;
    const to = { ArrowUp: from > 0 ? parent[from] : 0, ArrowDown: first[from], ArrowLeft: previous[from], ArrowRight: next[from] }[event.key];
    if (to !== undefined) { event.preventDefault(); if (to >= 0) { if (!inZoom(to)) zoom = parent[to]; choose(to); } }
    else if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); zoomTo(from); }
  });
  document.addEventListener('keydown', event => {
    const typing = event.target === byId('search');
    if (event.key === 'Escape') { if (typing) { byId('search').value = ''; search(); canvas.focus(); } else { chosen = -1; zoomTo(0); } }
    else if (event.key === '/' && !typing) { event.preventDefault(); byId('search').focus(); }
  });

  const search = () => {
    const text = byId('search').value;
    hits = null;
    byId('found').textContent = '';
    if (text) {
      try { pattern = new RegExp(text, 'i'); } catch { pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i'); }
      hits = names.map(name => pattern.test(name));
      let weight = 0, count = 0;
      // Within a match no other counts again.
      for (let n = 1; n < size;) { if (hits[frame[n]]) { weight += total[n]; count++; n = end[n]; } else n++; }
      byId('found').textContent = count ? `${amount(weight)}, ${share(weight / sum)}` : 'nothing is called that';
    }
    draw();
  };
  byId('search').addEventListener('input', search);
  byId('reset').addEventListener('click', () => { chosen = -1; zoomTo(0); });
  byId('up').addEventListener('click', () => zoomTo(parent[zoom]));
  byId('theme').addEventListener('click', () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === 'dark';
    document.documentElement.dataset.theme = isDark ? 'light' : 'dark';
    readColours();
    heat();
    legend();
    draw();
  });
  matchMedia('(prefers-color-scheme: light)').addEventListener('change', () => { readColours(); heat(); legend(); draw(); });
  new ResizeObserver(draw).observe(byId('stage'));

  const legend = () => {
    const has = kind => kinds.includes(kind);
    const entries = compares
      ? [['more', 'more than before'], ['less', 'less than before'], ['same', 'as before']]
      : [['java', 'Java, Scala', has('java')], ['made', 'generated by Spark, what it inlined included', isMade.some(Boolean)], ['native', 'native', has('native')], ['kernel', 'kernel', has('kernel')], ['class', 'class of object or lock', has('class')], ['mark', 'left out or without stack', names.some(name => name[0] === '[')]].filter(entry => entry[2]);
    byId('legend').replaceChildren(...entries.map(([colour, text]) => {
      const item = document.createElement('li'), dot = document.createElement('i');
      dot.style.background = colours[colour];
      item.append(dot, text);
      return item;
    }));
  };
  const facts = () => {
    const parts = [`${graph.event}: ${amount(graph.sum)}${graph.unit === 'samples' ? ' samples' : ''} in ${number(graph.events)} events`];
    if (compares) parts.push(`before ${amount(graph.baseline_sum)}`);
    if (graph.first_ms !== null) parts.push(`${new Date(graph.first_ms).toISOString().slice(0, 19).replace('T', ' ')} UTC for ${((graph.last_ms - graph.first_ms) / 1000).toFixed(1)} s`);
    const jvms = graph.executors.filter(one => one.weight > 0).map(one => one.executor);
    if (jvms.length && jvms.length <= 6) parts.push((jvms.length > 1 ? 'executors ' : 'executor ') + jvms.join(', '));
    else if (jvms.length) parts.push(`${jvms.length} executors`);
    if (graph.left_out.weight > 0) parts.push(`${share(graph.left_out.weight / sum)} left out as [other]`);
    byId('facts').textContent = parts.join(' · ');
  };
  const HEAT_ROWS = 12;
  const heat = () => {
    const place = byId('heat');
    if (!graph.heat || graph.heat.rows.length === 0) { place.hidden = true; return; }
    const { rows, start_ms: start, slice_ms: slice } = graph.heat;
    let slices = 0, most = 1;
    for (const row of rows) row.weights.forEach((weight, n) => { most = Math.max(most, weight); if (weight > 0) slices = Math.max(slices, n + 1); });
    // The busiest executors, where there are more than fit.
    const sumOf = row => row.weights.reduce((a, b) => a + b, 0);
    const shown = rows.length <= HEAT_ROWS ? rows : [...rows].sort((a, b) => sumOf(b) - sumOf(a)).slice(0, HEAT_ROWS);
    const parts = [];
    for (const row of shown) {
      const name = document.createElement('span'), strip = document.createElement('canvas');
      name.textContent = row.executor;
      strip.width = slices;
      strip.height = 1;
      const brush = strip.getContext('2d');
      for (let n = 0; n < slices; n++) {
        brush.fillStyle = mix(colours.panel, colours.ember, Math.sqrt(row.weights[n] / most));
        brush.fillRect(n, 0, 1, 1);
      }
      strip.addEventListener('mousemove', event => {
        const n = Math.min(slices - 1, Math.floor(event.offsetX / strip.clientWidth * slices));
        strip.title = `${new Date(start + n * slice).toISOString().slice(11, 23)} UTC: ${amount(row.weights[n])}`;
      });
      parts.push(name, strip);
    }
    const axis = document.createElement('p');
    for (const text of ['0 s', rows.length > shown.length ? `the busiest ${shown.length} of ${rows.length} executors` : '', `${(slices * slice / 1000).toFixed(1)} s`]) {
      const mark = document.createElement('span');
      mark.textContent = text;
      axis.append(mark);
    }
    place.replaceChildren(...parts, axis);
  };
  const hottest = () => {
    const sums = new Map(), active = new Uint32Array(names.length), open = [];
    for (let n = 1; n < size; n++) {
      while (open.length && open[open.length - 1] !== parent[n]) active[frame[open.pop()]]--;
      const f = frame[n], hot = sums.get(f) || { f, own: 0, total: 0, before: 0 };
      hot.own += own[n];
      if (compares) hot.before += ownBefore[n];
      if (active[f]++ === 0) hot.total += total[n];
      open.push(n);
      sums.set(f, hot);
    }
    const rows = [...sums.values()].sort((a, b) => b.own + b.before - a.own - a.before || b.total - a.total).slice(0, 25);
    const cell = (tag, text, name) => { const made = document.createElement(tag); made.textContent = text; if (name) made.className = name; return made; };
    const head = document.createElement('tr');
    head.append(cell('th', 'own'), cell('th', 'share', 'share'), ...(compares ? [cell('th', 'before')] : []), cell('th', 'with callees'), cell('th', 'share', 'share'), cell('th', 'frame'));
    const lines = rows.map(hot => {
      const line = document.createElement('tr'), last = document.createElement('td'), button = document.createElement('button');
      button.type = 'button';
      button.textContent = names[hot.f];
      button.addEventListener('click', () => { byId('search').value = '^' + names[hot.f].replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$'; search(); scrollTo({ top: 0 }); });
      last.append(button);
      line.append(cell('td', amount(hot.own)), cell('td', share(hot.own / sum), 'share'), ...(compares ? [cell('td', share(hot.before / sumBefore))] : []), cell('td', amount(hot.total)), cell('td', share(hot.total / sum), 'share'), last);
      return line;
    });
    byId('hot').replaceChildren(head, ...lines);
  };
  readColours();
  facts();
  heat();
  legend();
  hottest();
  draw();
})();
