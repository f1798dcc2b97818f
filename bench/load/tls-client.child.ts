/**
 * Opens and ends TLS connections to PORT of this machine, CONNECTIONS at once, for SECONDS; with RESUMES=1 each shows the
 * session of the one before it. Prints `TlsResult`.
 */
import { connect } from "node:tls";

export interface TlsResult {
  readonly count: number;
  readonly resumedCount: number;
  readonly elapsedMs: number;
}

const port = Number(process.env.PORT);
const atOnce = Number(process.env.CONNECTIONS);
const resumes = process.env.RESUMES === "1";
const untilMs = performance.now() + Number(process.env.SECONDS) * 1_000;
let count = 0;
let resumedCount = 0;

/** Resolves with the session to show next. */
function handshake(session: Buffer | undefined): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    let next = session;
    const socket = connect({
      ...{ host: "127.0.0.1", port, rejectUnauthorized: false },
      ...(session === undefined ? {} : { session }),
    });
    socket.on("session", (fresh) => {
      next = fresh;
      // In TLS 1.3 it comes after the handshake.
      if (resumes) end();
    });
    const end = (): void => {
      socket.destroy();
      resolve(next);
    };
    socket.on("secureConnect", () => {
      count++;
      if (socket.isSessionReused()) resumedCount++;
      if (!resumes || next !== undefined) end();
    });
    socket.on("error", reject);
  });
}

const startMs = performance.now();
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    let session: Buffer | undefined;
    while (performance.now() < untilMs) {
      const next = await handshake(session);
      session = resumes ? next : undefined;
    }
  }),
);
const result: TlsResult = { count, resumedCount, elapsedMs: performance.now() - startMs };
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);
