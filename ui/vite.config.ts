import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// `npm run dev` shows changes at once; the API comes from a server that runs already.
const api = process.env.EMBERSCOPE_URL ?? "http://127.0.0.1:18480";
const token = process.env.EMBERSCOPE_TOKEN ?? "";
const proxy = { "/api": { target: api, headers: token ? { authorization: `Bearer ${token}` } : {} } };

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022",
    // `dist` holds a file of the repository, so that it is there before the first build; `npm run clean` empties it.
    emptyOutDir: false,
    // Nothing inline: the policy allows only files of the server.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy },
  preview: { proxy },
  worker: { format: "es" },
  test: { include: ["src/**/*.test.ts"] },
});
