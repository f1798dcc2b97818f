/** The layers of ARCHITECTURE.md: imports look down only. gateway/launch/layering.test.ts plants violations of each rule. */
const TEST = "(\\.test\\.ts$|/test/|\\.contract\\.ts$)";

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "engine-looks-down",
      severity: "error",
      from: { path: "^engine/", pathNot: TEST },
      to: { path: "^(feeds|gateway|bench|schemas|client)/" },
    },
    {
      name: "engine-is-pure",
      comment: "No sockets, clocks or files in the core; storage sits behind its port.",
      severity: "error",
      from: { path: "^engine/", pathNot: `^engine/(storage|custody)/|${TEST}` },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "engine-takes-no-transport",
      severity: "error",
      from: { path: "^engine/", pathNot: TEST },
      to: { path: "node_modules/(ws|undici|uwebsockets|uWebSockets\\.js|pino|viem)/" },
    },
    {
      name: "feeds-look-down",
      severity: "error",
      from: { path: "^feeds/", pathNot: TEST },
      to: { path: "^(gateway|bench|client)/" },
    },
    {
      name: "feeds-take-no-schemas",
      severity: "error",
      from: { path: "^feeds/", pathNot: "^feeds/venuefive/" },
      to: { path: "^schemas/" },
    },
    {
      name: "rooms-are-apart",
      severity: "error",
      from: { path: "^feeds/(venue[a-z]+)/" },
      to: { path: "^feeds/venue[a-z]+/", pathNot: "^feeds/$1/" },
    },
    {
      name: "shared-knows-no-room",
      severity: "error",
      from: { path: "^feeds/shared/" },
      to: { path: "^feeds/venue[a-z]+/" },
    },
    {
      name: "schemas-import-nothing",
      severity: "error",
      from: { path: "^schemas/", pathNot: TEST },
      to: { path: "^(engine|feeds|gateway|bench|client)/" },
    },
    {
      name: "client-takes-schemas-only",
      severity: "error",
      from: { path: "^client/" },
      to: { path: "^(engine|feeds|gateway|bench)/" },
    },
    {
      name: "nothing-imports-bench",
      comment: "Only the demo entry point starts local venues; tests may.",
      severity: "error",
      from: { path: "^(engine|feeds|gateway|schemas|client)/", pathNot: `^gateway/demo/|${TEST}` },
      to: { path: "^bench/" },
    },
    {
      name: "local-venues-prove-on-their-own",
      comment: "A local venue that checked orders with the code under test would prove nothing.",
      severity: "error",
      from: { path: "^bench/sim/", pathNot: TEST },
      to: {
        path: "^(engine|feeds|gateway|schemas|client)/",
        // The hashes and curves of venuethree are proven by vectors that no code of ours made.
        pathNot: "^(engine/domain/(decimal|random|clock|virtual-clock)|feeds/venuethree/sign/[a-z0-9-]+)\\.ts$",
      },
    },
    {
      name: "only-local-venuethree-borrows-its-hashes",
      severity: "error",
      from: { path: "^bench/sim/(?!venuethree/)", pathNot: TEST },
      to: { path: "^feeds/venuethree/sign/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
    },
  },
};
