import { defineConfig } from "vitest/config";

// The page in a browser, one file after the other: there is one server and one Chromium.
export default defineConfig({
  test: {
    include: ["pages/**/*.page.ts"],
    globalSetup: ["pages/setup.ts"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
