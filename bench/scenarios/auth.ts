/**
 * Proving one request: the authenticator with a key of two secrets or one, the replay memory and the durable mark, against
 * the bare HMAC over the same bytes.
 */
import { createHmac, createSecretKey } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { HighWaterMark } from "../../gateway/auth/high-water-mark.js";
import { IpList } from "../../gateway/auth/ip-list.js";
import { KeyTable, LiveKey } from "../../gateway/auth/key-table.js";
import { ReplayWindow } from "../../gateway/auth/replay-window.js";
import { RequestAuth } from "../../gateway/auth/request-auth.js";
import { systemFillRandom } from "../../gateway/auth/secret-text.js";
import { SigningSecret } from "../../gateway/auth/signing-secret.js";
import type { SignedRequest } from "../../gateway/http/caller.js";
import { median } from "../lib/stats.js";
import type { BenchRow, Scenario } from "../lib/types.js";

const SECRET = Buffer.from(`sk_${"b".repeat(43)}`);
const BODY_BYTES = 400;

interface Asked {
  readonly what: string;
  readonly keyId: string;
  readonly method: string;
  readonly bodyBytes: number;
}

const ASKED: readonly Asked[] = [
  { what: "a GET without a body proven", keyId: "pk_one", method: "GET", bodyBytes: 0 },
  { what: "a POST of 400 bytes proven, and remembered", keyId: "pk_one", method: "POST", bodyBytes: BODY_BYTES },
  { what: "the same while a former secret lives", keyId: "pk_two", method: "POST", bodyBytes: BODY_BYTES },
];

export const auth: Scenario = {
  name: "auth",
  title: "Proving one request",
  async run(context) {
    const count = context.smoke ? 200 : 20_000;
    const runCount = context.smoke ? 1 : 5;
    const directory = mkdtempSync(join(tmpdir(), "unwind-auth-bench-"));
    const clock = createSystemClock();
    const store = openLmdbStore({ directory, clock });
    try {
      const mark = await HighWaterMark.open(store, clock, silentLogger);
      const rows: BenchRow[] = [];
      for (const asked of ASKED) rows.push(await compare(asked, () => startAuth(mark), count, runCount));
      return { rows, profile: [] };
    } finally {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

function startAuth(mark: HighWaterMark): RequestAuth {
  const keys = new KeyTable();
  const ips = IpList.parse([]);
  if (typeof ips === "number") throw new Error("an empty list is one");
  for (const keyId of ["pk_one", "pk_two"]) {
    const facts = { keyId, ownerId: "ow_bench", scopes: ["read", "trade"] as const, ips };
    keys.add(keyId, new LiveKey(facts, new SigningSecret(SECRET)));
  }
  const two = keys.get("pk_two");
  two?.rotate(new SigningSecret(SECRET), { wallMs: Number.MAX_SAFE_INTEGER, monoNs: Number.MAX_SAFE_INTEGER });
  const parts = { mode: "signed", keys, clock: createSystemClock(), replays: new ReplayWindow(), mark } as const;
  return new RequestAuth({ ...parts, fillRandom: systemFillRandom, onAddressRefused: () => {} });
}

async function compare(asked: Asked, start: () => RequestAuth, count: number, runCount: number): Promise<BenchRow> {
  const ours: number[] = [];
  const peers: number[] = [];
  const key = createSecretKey(SECRET);
  for (let run = -1; run < runCount; run++) {
    const requests = requestsOf(asked, count);
    const authenticator = start();
    let okCount = 0;
    const oursNs = perRequest(requests, (request) => {
      if (authenticator.authenticate(request).ok) okCount++;
    });
    if (okCount !== count) throw new Error(`${count - okCount} of ${count} requests were refused`);
    let sameCount = 0;
    const peerNs = perRequest(requests, ({ headers, method, target, body }) => {
      const mac = createHmac("sha256", key).update(`${headers.timestamp}60000${method}${target}`).update(body);
      if (mac.digest("hex") === headers.signature) sameCount++;
    });
    if (sameCount !== count) throw new Error("the peer signs other bytes");
    // The commit of the mark goes on beside the next run.
    await new Promise((resolve) => setImmediate(resolve));
    if (run < 0) continue;
    ours.push(oursNs);
    peers.push(peerNs);
  }
  const [oursNs, peerNs] = [median(ours), median(peers)];
  return {
    ...{ what: asked.what, unit: "ns", ours: oursNs, peerName: "createHmac over the same bytes", peer: peerNs },
    ...{ ratio: oursNs / peerNs, goal: null, runCount },
    detail: `${count} requests a run, ns of each run ${ours.map((ns) => ns.toFixed(0)).join("/")}, peer ${peers.map((ns) => ns.toFixed(0)).join("/")}`,
  };
}

function requestsOf({ keyId, method, bodyBytes }: Asked, count: number): SignedRequest[] {
  const target = "/api/trading/orders/history/12345/status?symbol=BTC0";
  const timestamp = String(Date.now());
  return Array.from({ length: count }, (_, index) => {
    const body = Buffer.from(bodyBytes === 0 ? "" : `{"n":"${String(index).padStart(bodyBytes - 8, "0")}"}`);
    const mac = createHmac("sha256", SECRET).update(`${timestamp}60000${method}${target}`).update(body);
    const headers = { apiKey: keyId, timestamp, recvWindow: "60000", signature: mac.digest("hex"), secret: null };
    return { headers, method, target, body, address: "127.0.0.1" };
  });
}

function perRequest(requests: readonly SignedRequest[], prove: (request: SignedRequest) => void): number {
  const startMs = performance.now();
  for (const request of requests) prove(request);
  return ((performance.now() - startMs) * 1e6) / requests.length;
}
