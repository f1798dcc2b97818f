/**
 * Opens and ends TLS connections to PORT of this machine, AT_ONCE at a time, for SECONDS. With RESUMES=1 each shows the
 * ticket of one connection made before. Every server is asked for the same cipher and the same curve. A connection counts
 * once both sides have ended it, so that the server's half of the handshake is done. Prints `TlsResult`.
 *
 * A server may send its tickets with its first answer only, so the connection that gets one asks a request.
 */
import { connect, createSecureContext, type TLSSocket } from "node:tls";
import { percentile } from "../lib/stats.js";

export interface TlsResult {
  readonly count: number;
  /** With those before the measurement began. */
  readonly totalCount: number;
  readonly resumedCount: number;
  readonly elapsedMs: number;
  /** From the connect to the end of the client's half of the handshake. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the client. */
  readonly cpuMs: number;
  /** Protocol, cipher and curve of the last one. */
  readonly agreed: string;
}

const CIPHER = "TLS_AES_128_GCM_SHA256";
const CURVE = "X25519";
const WARM_UP_MS = 300;
const CONNECTION_MS_MAX = 5_000;

const port = Number(process.env.PORT);
const atOnce = Number(process.env.AT_ONCE);
const seconds = Number(process.env.SECONDS);
const resumes = process.env.RESUMES === "1";
const secureContext = createSecureContext({ ciphers: CIPHER, ecdhCurve: CURVE, minVersion: "TLSv1.3" });

interface Connection {
  readonly isResumed: boolean;
  readonly handshakeMs: number;
}

let agreed = "";

/** `use` begins once the handshake is done, and ends the socket. Rejects where the connection does not end in time. */
function connectOnce(ticket: Buffer | null, use: (socket: TLSSocket) => void): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    let made: Connection | null = null;
    const socket = connect({
      ...{ host: "127.0.0.1", port, rejectUnauthorized: false, secureContext },
      ...(ticket === null ? {} : { session: ticket }),
    });
    socket.setTimeout(CONNECTION_MS_MAX, () => socket.destroy(new Error(`silent for ${CONNECTION_MS_MAX} ms`)));
    socket.once("secureConnect", () => {
      made = { isResumed: socket.isSessionReused(), handshakeMs: performance.now() - startMs };
      agreed = `${socket.getProtocol()}, ${socket.getCipher().name}, ${CURVE}`;
      use(socket);
    });
    socket.on("error", reject);
    socket.on("close", () => (made === null ? reject(new Error("closed in the handshake")) : resolve(made)));
    // Unread, the end of the other side would not be seen.
    socket.resume();
  });
}

async function takeTicket(): Promise<Buffer> {
  let ticket: Buffer | null = null;
  await connectOnce(null, (socket) => {
    socket.on("session", (session) => {
      ticket = session;
      socket.end();
    });
    socket.write("GET /ticket HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  });
  if (ticket === null) throw new Error("the server gave no ticket");
  return ticket;
}

async function run(): Promise<TlsResult> {
  const ticket = resumes ? await takeTicket() : null;
  const fromMs = performance.now() + WARM_UP_MS;
  const untilMs = fromMs + seconds * 1_000;
  const handshakesMs: number[] = [];
  let totalCount = 0;
  let resumedCount = 0;
  let cpuBefore = process.cpuUsage();
  setTimeout(() => {
    cpuBefore = process.cpuUsage();
  }, WARM_UP_MS);
  const loop = async (): Promise<void> => {
    for (let nowMs = performance.now(); nowMs < untilMs; nowMs = performance.now()) {
      const { isResumed, handshakeMs } = await connectOnce(ticket, (socket) => socket.end());
      totalCount++;
      if (nowMs < fromMs) continue;
      handshakesMs.push(handshakeMs);
      if (isResumed) resumedCount++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    ...{ count: handshakesMs.length, totalCount, resumedCount, elapsedMs: performance.now() - fromMs },
    ...{ p50Ms: percentile(handshakesMs, 50), p99Ms: percentile(handshakesMs, 99) },
    ...{ cpuMs: (user + system) / 1_000, agreed },
  };
}

try {
  process.stdout.write(`${JSON.stringify(await run())}\n`);
} catch (error) {
  process.stderr.write(`TLS client: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
process.exit(0);
