/**
 * SOCKETS WebSocket clients that subscribe to books at once: each to MARKETS of them, in groups of four with the same
 * subscriptions. They count the snapshots by their first bytes and leave them unread. Prints `SnapshotRun` after the
 * last snapshot.
 */
import { once } from "node:events";
import { WebSocket } from "ws";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";

export interface SnapshotRun {
  readonly keyCount: number;
  readonly snapshotCount: number;
  readonly mebibytes: number;
  /** From the first subscribe to the last snapshot. */
  readonly elapsedMs: number;
}

const [FIRST] = ROUTABLE_VENUES;
const SAME_EACH = 4;
const INTERVALS_MS = [0, 50, 100, 250, 1_000];
const SNAPSHOT = Buffer.from('{"type":"snapshot"');
const BYTES_PER_MIB = 1_048_576;

const socketCount = Number(process.env.SOCKETS);
const symbols = Array.from({ length: Number(process.env.MARKETS) }, (_, index) => `C${index}`);
const levels = Number(process.env.LEVELS);
const expected = socketCount * symbols.length;

const sockets = Array.from({ length: socketCount }, () => new WebSocket(`ws://127.0.0.1:${process.env.PORT}/ws`));
for (const socket of sockets) {
  socket.on("error", (error) => fail(error.message));
  socket.on("close", (code) => fail(`closed with ${code}`));
}
await Promise.all(sockets.map((socket) => once(socket, "open")));

let snapshotCount = 0;
let byteCount = 0;
const startMs = performance.now();
const all = new Promise<void>((resolve) => {
  for (const socket of sockets) {
    socket.on("message", (data: Buffer) => {
      byteCount += data.length;
      if (data.compare(SNAPSHOT, 0, SNAPSHOT.length, 0, SNAPSHOT.length) !== 0) return;
      snapshotCount++;
      if (snapshotCount === expected) resolve();
    });
  }
});
for (const [index, socket] of sockets.entries()) {
  const group = Math.floor(index / SAME_EACH);
  const intervalMs = INTERVALS_MS[group % INTERVALS_MS.length];
  const depth = levels - Math.floor(group / INTERVALS_MS.length);
  socket.send(JSON.stringify({ op: "subscribe", topic: "book", symbols, exchanges: [FIRST], depth, intervalMs }));
}
await all;
const run: SnapshotRun = {
  keyCount: Math.ceil(socketCount / SAME_EACH) * symbols.length,
  snapshotCount,
  mebibytes: byteCount / BYTES_PER_MIB,
  elapsedMs: performance.now() - startMs,
};
process.stdout.write(`${JSON.stringify(run)}\n`);
process.on("SIGTERM", () => process.exit(0));
// The sockets stay open until the parent asks for the end: a closing socket is work for the server.
setInterval(() => {}, 3_600_000);

function fail(problem: string): void {
  process.stderr.write(`snapshot readers: ${problem}\n`);
  process.exit(1);
}
