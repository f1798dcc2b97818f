/** The layers of ARCHITECTURE.md: imports look down only. gateway/launch/layering.test.ts plants violations of each rule. */
const TEST = "(\\.test\\.ts$|/test/|\\.contract\\.ts$)";

/** The steps of an order, lowest first. */
const ORDER_STEPS = ["durable", "decide", "send", "follow", "conclude", "protect", "request"];

/** What stands above a step is nothing to it; single orders stand beside protection and requests. */
const orderSteps = ORDER_STEPS.map((step, index) => ({
  name: `orders-${step}-looks-down`,
  severity: "error",
  from: { path: `^engine/orders/${step}/`, pathNot: TEST },
  to: { path: `^engine/orders/(${[...ORDER_STEPS.slice(index + 1), "single"].join("|")})/` },
}));

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
      from: { path: "^engine/", pathNot: `^engine/(storage|recorder|custody)/|${TEST}` },
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
      name: "room-rows-look-down",
      comment: "Within a room: orders → account → market, and all of them → sign and rules.",
      severity: "error",
      from: { path: "^feeds/(venue[a-z]+)/market/", pathNot: TEST },
      to: { path: "^feeds/$1/(account|orders|money)/" },
    },
    {
      name: "room-accounts-take-no-orders",
      severity: "error",
      from: { path: "^feeds/(venue[a-z]+)/account/", pathNot: TEST },
      to: { path: "^feeds/$1/(orders|money)/" },
    },
    {
      name: "room-signs-on-its-own",
      comment: "What signs and what is fixed by the venue can be proven without anything that reads or sends.",
      severity: "error",
      from: { path: "^feeds/(venue[a-z]+)/(sign|rules)/", pathNot: TEST },
      to: { path: "^feeds/$1/(market|account|orders|money)/" },
    },
    {
      name: "room-rows-know-no-shell",
      comment: "room.ts and trading.ts wire the rows; no row knows them.",
      severity: "error",
      from: { path: "^feeds/(venue[a-z]+)/[a-z]+/", pathNot: TEST },
      to: { path: "^feeds/$1/[^/]+\\.ts$" },
    },
    {
      name: "shared-net-is-lowest",
      severity: "error",
      from: { path: "^feeds/shared/(net|sign)/", pathNot: TEST },
      to: { path: "^feeds/shared/", pathNot: "^feeds/shared/(net|sign)/" },
    },
    {
      name: "shared-book-and-room-take-net",
      severity: "error",
      from: { path: "^feeds/shared/(book|room)/", pathNot: TEST },
      to: { path: "^feeds/shared/(account|orders)/" },
    },
    {
      name: "shared-chain-takes-net-and-room",
      comment: "A chain is read and written without anything that trades.",
      severity: "error",
      from: { path: "^feeds/shared/chain/", pathNot: TEST },
      to: {
        path: "^(feeds/shared|engine)/",
        pathNot: "^(feeds/shared/(chain|net|room)|engine/(custody/digest|domain))/|^engine/[^/]+\\.ts$",
      },
    },
    {
      name: "shared-accounts-take-no-orders",
      severity: "error",
      from: { path: "^feeds/shared/account/", pathNot: TEST },
      to: { path: "^feeds/shared/orders/" },
    },
    {
      name: "http-knows-no-routes",
      severity: "error",
      from: { path: "^gateway/http/", pathNot: TEST },
      to: { path: "^gateway/", pathNot: "^gateway/http/" },
    },
    {
      name: "auth-knows-no-shell",
      comment: "Keys, signatures and limits of time are proven without a server; http/caller.ts has their ports.",
      severity: "error",
      from: { path: "^gateway/auth/", pathNot: TEST },
      to: { path: "^gateway/", pathNot: "^gateway/(auth/|http/caller\\.ts$)" },
    },
    {
      name: "auth-takes-no-transport",
      severity: "error",
      from: { path: "^gateway/auth/", pathNot: TEST },
      to: { path: "node_modules/(ws|undici|uwebsockets|uWebSockets\\.js)/" },
    },
    {
      name: "children-know-no-service",
      severity: "error",
      from: { path: "^gateway/children/", pathNot: TEST },
      to: { path: "^gateway/", pathNot: "^gateway/children/" },
    },
    {
      name: "admin-knows-no-service",
      comment: "Operations over ports, a socket and its client: the CLI uses them without the service.",
      severity: "error",
      from: { path: "^gateway/admin/", pathNot: TEST },
      to: { path: "^gateway/", pathNot: "^gateway/(admin|auth)/" },
    },
    {
      name: "custody-knows-no-service",
      comment: "The link of the two parties is the co-signer's too, whose process has no service.",
      severity: "error",
      from: { path: "^gateway/custody/", pathNot: TEST },
      to: {
        path: "^(gateway|feeds|schemas|engine)/",
        // A port, the pauses of a connection, and the native curve.
        pathNot:
          "^(gateway/custody|engine/(custody|domain|storage))/|^(feeds/shared/(net/backoff|sign/secp256k1)|gateway/auth/audit)\\.ts$",
      },
    },
    {
      name: "outside-signer-knows-no-service",
      comment: "The client of a contract: schemas, one port of the engine, and calls over HTTP.",
      severity: "error",
      from: { path: "^gateway/outside-signer/", pathNot: TEST },
      to: { path: "^(gateway|feeds)/", pathNot: "^(gateway/outside-signer|feeds/shared/net)/" },
    },
    {
      name: "outside-wallets-know-no-sessions",
      comment: "Two parties of our own are another provider: of them only names, digests and the check of a signature.",
      severity: "error",
      from: { path: "^engine/custody/outside/", pathNot: TEST },
      to: {
        path: "^engine/custody/",
        pathNot:
          "^engine/custody/(outside/|mpc/(base|parts)/|provider/(wallet-provider|wallet-names|wallet-rows|signing-intent)\\.ts$)",
      },
    },
    {
      name: "cosigner-knows-no-service",
      comment: "It may run on another host; of the shell it has the log and the version alone.",
      severity: "error",
      from: { path: "^gateway/cosigner/", pathNot: TEST },
      to: {
        path: "^gateway/",
        pathNot: "^gateway/(cosigner|custody|admin|auth|children)/|^gateway/app/(log|version)\\.ts$",
      },
    },
    {
      name: "views-know-no-routes",
      comment: "gateway/api holds requests and views; its routes, the stream and the histories are built on them.",
      severity: "error",
      from: { path: "^gateway/(api/[^/]+\\.ts$|history/|accounts/)", pathNot: TEST },
      to: { path: "^gateway/(api/routes|stream|app|cli|demo)/" },
    },
    {
      name: "routes-and-stream-know-no-wiring",
      severity: "error",
      from: { path: "^gateway/(api/routes|stream)/", pathNot: TEST },
      to: { path: "^gateway/(app|cli|demo|children)/" },
    },
    {
      name: "stream-knows-no-routes",
      severity: "error",
      from: { path: "^gateway/stream/", pathNot: TEST },
      to: { path: "^gateway/api/routes/" },
    },
    {
      name: "domain-is-lowest",
      severity: "error",
      from: { path: "^engine/domain/", pathNot: TEST },
      to: { path: "^engine/", pathNot: "^engine/domain/" },
    },
    {
      name: "engine-parts-know-no-orders",
      comment: "Books, routing, guards and the store serve the orders.",
      severity: "error",
      from: { path: "^engine/(market|routing|guards|storage|custody)/", pathNot: TEST },
      to: { path: "^engine/(orders|portfolio|recorder)/" },
    },
    {
      name: "sealing-knows-the-store-alone",
      comment: "What seals a secret knows nothing of what the secret is for.",
      severity: "error",
      from: { path: "^engine/custody/sealing/", pathNot: TEST },
      to: { path: "^engine/", pathNot: "^engine/(custody/sealing/|domain/|storage/state-store\\.ts$)" },
    },
    {
      name: "mpc-base-is-lowest",
      comment: "Numbers, points and hashes of two-party signing know no step of it.",
      severity: "error",
      from: { path: "^engine/custody/mpc/base/", pathNot: TEST },
      to: { path: "^engine/", pathNot: "^engine/custody/(mpc/base/|sealing/secret-bytes\\.ts$)" },
    },
    {
      name: "two-party-signing-knows-no-provider",
      comment: "Bytes in, bytes and effects out; the runner has the sockets, clocks and rows.",
      severity: "error",
      from: { path: "^engine/custody/mpc/", pathNot: TEST },
      to: { path: "^engine/", pathNot: "^engine/(custody/(mpc|sealing)/|domain/)" },
    },
    {
      name: "two-party-sessions-are-on-top",
      comment: "base ← parts, state ← wire ← sessions.",
      severity: "error",
      from: { path: "^engine/custody/mpc/(base|parts|state|wire)/", pathNot: TEST },
      to: { path: "^engine/custody/mpc/sessions/" },
    },
    {
      name: "two-party-arithmetic-is-lowest",
      severity: "error",
      from: { path: "^engine/custody/mpc/(base|parts)/", pathNot: TEST },
      to: { path: "^engine/custody/mpc/(state|wire)/" },
    },
    {
      name: "two-party-signing-is-pure",
      severity: "error",
      from: { path: "^engine/custody/mpc/", pathNot: TEST },
      to: { path: "^(node:)?(net|tls|fs|http|https|child_process|worker_threads|os|dgram)(/promises)?$" },
    },
    {
      name: "digests-are-lowest",
      comment: "What computes a digest knows nothing of who may have it signed.",
      severity: "error",
      from: { path: "^engine/custody/digest/", pathNot: TEST },
      to: { path: "^engine/", pathNot: "^engine/custody/digest/" },
    },
    {
      name: "policy-knows-digests-alone",
      comment: "Clock and state come in; the protocol and the store are the co-signer's.",
      severity: "error",
      from: { path: "^engine/custody/policy/", pathNot: TEST },
      to: { path: "^engine/", pathNot: "^engine/custody/(policy|digest)/" },
    },
    {
      name: "digests-and-policy-are-pure",
      severity: "error",
      from: { path: "^engine/custody/(digest|policy)/", pathNot: TEST },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "orders-know-no-portfolio",
      comment: "Nor the recorder, which is behind a port of theirs (record-sink.ts).",
      severity: "error",
      from: { path: "^engine/orders/", pathNot: TEST },
      to: { path: "^engine/(portfolio|recorder)/" },
    },
    ...orderSteps,
    {
      name: "orders-root-knows-no-step",
      comment: "The request, the run and its orders: what every step speaks of.",
      severity: "error",
      from: { path: "^engine/orders/[^/]+$", pathNot: TEST },
      to: { path: "^engine/orders/[^/]+/" },
    },
    {
      name: "single-orders-know-no-request",
      severity: "error",
      from: { path: "^engine/orders/single/", pathNot: TEST },
      to: { path: "^engine/orders/(protect|request)/" },
    },
    {
      name: "one-sender",
      comment: "An order is made durable and let through before it is sent.",
      severity: "error",
      from: { path: "^(engine|gateway)/", pathNot: `^engine/orders/send/order-core\\.ts$|${TEST}` },
      to: { path: "^engine/orders/send/send-attempt\\.ts$" },
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
      name: "nothing-imports-the-demo",
      comment: "It makes money for its wallets: no service that is not the demo can reach that.",
      severity: "error",
      from: {
        path: "^(engine|feeds|gateway|schemas|client|bench)/",
        pathNot: `^gateway/demo/|^bench/scenarios/|${TEST}`,
      },
      to: { path: "^gateway/demo/" },
    },
    {
      name: "local-core-knows-no-venue",
      severity: "error",
      from: { path: "^bench/sim/core/", pathNot: TEST },
      to: { path: "^bench/sim/venue[a-z]+/" },
    },
    {
      name: "local-engine-knows-no-server",
      comment: "Faults, sockets and the control API are around the engine.",
      severity: "error",
      from: { path: "^bench/sim/core/(model|money|market|engine)/", pathNot: TEST },
      to: { path: "^bench/sim/core/server/" },
    },
    {
      name: "local-wire-is-lowest",
      comment: "How a venue writes things down is read without what it knows.",
      severity: "error",
      from: { path: "^bench/sim/(venue[a-z]+)/wire/", pathNot: TEST },
      to: { path: "^bench/sim/$1/", pathNot: "^bench/sim/$1/wire/" },
    },
    {
      name: "local-venues-prove-on-their-own",
      comment: "A local venue that checked orders with the code under test would prove nothing.",
      severity: "error",
      from: { path: "^bench/sim/", pathNot: TEST },
      to: {
        path: "^(engine|feeds|gateway|schemas|client)/",
        // These hashes and curves are proven by vectors that no code of ours made.
        pathNot: "^(engine/domain/(random|clock|virtual-clock)|feeds/[a-z]+/sign/(quintic|schnorr|tx))\\.ts$",
      },
    },
    {
      name: "local-venues-borrow-their-own-hashes",
      severity: "error",
      from: { path: "^bench/sim/([a-z-]+)", pathNot: TEST },
      to: { path: "^feeds/[a-z]+/sign/", pathNot: "^feeds/$1/sign/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // The second: a project of somebody else, which has the packed client installed.
    exclude: { path: "(^|/)dist/|^bench/test/venuefive-client/outside/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
    },
  },
};
