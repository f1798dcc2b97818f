import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{engine,feeds,gateway,bench,schemas,client}/**/*.test.ts"],
    exclude: ["node_modules", "dist"],
    // Of the project that is named, so that a run of one file checks no others.
    typecheck: { enabled: true, include: ["client/**/*.test-d.ts"], tsconfig: "client/tsconfig.types.json" },
    setupFiles: ["bench/lib/fast-check-setup.ts"],
    // Forks, not threads: native addons (lmdb, uWebSockets.js) are loaded by the code under test.
    pool: "forks",
    // What a source is turned into is kept beside the packages, by its text: each group of `npm test` is a run of its own.
    experimental: { fsModuleCache: true },
    maxWorkers: 2,
    // Concurrent tests of a file share one event loop with their local venues: more of them starve each other.
    maxConcurrency: 3,
    // Ceilings, not expectations: a shared machine may take most of its cores away for a while.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { interval: 20, timeout: 60_000 } },
  },
});
