#!/usr/bin/env python3
"""A real KDC and a server behind SPNEGO: `--kerberos` gets in, and says why where it does not.

Sets up a realm of its own with Debian's krb5-kdc in a temporary directory, a principal with a ticket and the service
HTTP/localhost, and a small server that takes event logs' requests only with a token that MIT's library accepts.

    python3 referee/kerberos.py        needs krb5-kdc, krb5-user and python3-gssapi (Debian); EMBERSCOPE names the program
"""

import base64
import contextlib
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "fixtures/logs/codec-none-4.3.0"
PASSWORD = "of-the-test"

try:
    import gssapi
except ImportError:
    # The system's Python has it where the package is installed; another one may come first in PATH.
    if sys.executable != "/usr/bin/python3" and Path("/usr/bin/python3").exists():
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    sys.exit("install python3-gssapi, krb5-kdc and krb5-user")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def realm(place):
    """A KDC of its own; gives the environment in which it is the realm."""
    port = free_port()
    (place / "krb5.conf").write_text(f"""[libdefaults]
  default_realm = EMBER.TEST
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
[realms]
  EMBER.TEST = {{
    kdc = 127.0.0.1:{port}
  }}
""")
    (place / "kdc.conf").write_text(f"""[kdcdefaults]
  kdc_ports = {port}
  kdc_tcp_ports = {port}
[realms]
  EMBER.TEST = {{
    database_name = {place}/principal
    key_stash_file = {place}/stash
    acl_file = {place}/acl
  }}
""")
    env = {**os.environ, "KRB5_CONFIG": str(place / "krb5.conf"), "KRB5_KDC_PROFILE": str(place / "kdc.conf"), "KRB5CCNAME": f"FILE:{place}/tickets"}
    run = lambda *words, **more: subprocess.run(words, env=env, check=True, capture_output=True, text=True, **more)
    run("kdb5_util", "create", "-s", "-r", "EMBER.TEST", "-P", "of-the-database")
    run("kadmin.local", "-q", f"addprinc -pw {PASSWORD} analyst")
    run("kadmin.local", "-q", "addprinc -randkey HTTP/localhost")
    run("kadmin.local", "-q", f"ktadd -k {place}/keytab HTTP/localhost")
    kdc = subprocess.Popen(["krb5kdc", "-n"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.05)
        yield env
    finally:
        kdc.kill()
        kdc.wait()


def serve(place, seen):
    """A server that wants a token, and names whom it let in."""
    os.environ["KRB5_KTNAME"] = f"FILE:{place}/keytab"
    credentials = gssapi.Credentials(usage="accept")
    (log,) = [path for path in LOG.rglob("*") if path.is_file()]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, _, token = self.headers.get("Authorization", "").partition(" ")
            who = None
            if kind == "Negotiate":
                context = gssapi.SecurityContext(creds=credentials, usage="accept")
                with contextlib.suppress(gssapi.exceptions.GSSError):
                    context.step(base64.b64decode(token))
                    who = str(context.initiator_name) if context.complete else None
            seen.append((self.path, who))
            body = log.read_bytes() if who else b"no token"
            self.send_response(200 if who else 401)
            if not who:
                self.send_header("WWW-Authenticate", "Negotiate")
            self.send_header("Content-Type", "application/octet-stream" if who else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    program = os.environ.get("EMBERSCOPE", str(ROOT / "target/release/emberscope"))
    checks = 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        with realm(place) as env:
            os.environ.update({name: env[name] for name in ("KRB5_CONFIG", "KRB5_KDC_PROFILE")})
            seen = []
            server = serve(place, seen)
            address = f"http://localhost:{server.server_port}/{next(iter(sorted(LOG.rglob('*')))).name}"

            def ask(*more, **env_more):
                words = [program, "summary", address, "--format", "json", "--quiet", *more]
                return subprocess.run(words, env={**env, **env_more}, capture_output=True, text=True)

            def expect(what, holds, done):
                nonlocal checks
                checks += 1
                if not holds:
                    sys.exit(f"FAILED: {what}\nexit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
                print(f"ok  {what}")

            done = ask()
            expect("without --kerberos it is refused, and the hint names it", done.returncode == 3 and "--kerberos" in done.stderr, done)
            done = ask("--kerberos")
            expect("without a ticket the reason and `kinit` are told", done.returncode == 3 and "no Kerberos token for HTTP@localhost" in done.stderr and "kinit" in done.stderr, done)
            expect("nothing was sent without a ticket", all(who is None for _, who in seen), done)
            got = subprocess.run(["kinit", "analyst"], input=PASSWORD + "\n", env=env, capture_output=True, text=True)
            if got.returncode:
                sys.exit(f"kinit: {got.stdout}{got.stderr}")
            done = ask("--kerberos")
            expect("with a ticket the log is read", done.returncode == 0 and json.loads(done.stdout)["totals"]["tasks"]["attempts"] > 0, done)
            expect("as the principal", seen[-1][1] == "analyst@EMBER.TEST", done)
            accepted = [who for _, who in seen if who]
            expect("every request has a token of its own", len(accepted) == sum(1 for _, who in seen[seen.index(next(one for one in seen if one[1])):]), done)
            done = ask("--kerberos", KRB5CCNAME=f"FILE:{place}/none")
            expect("another cache has no ticket", done.returncode == 3 and "no Kerberos token" in done.stderr, done)
            done = ask("--kerberos", "--user", "a:b")
            expect("two ways to log in contradict each other", done.returncode == 2, done)
            server.shutdown()
    print(f"{checks} checks passed")


if __name__ == "__main__":
    main()
