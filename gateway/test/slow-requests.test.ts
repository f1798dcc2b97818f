/** Requests that do not end, on real sockets: each connection is closed in a bounded time, and nothing was done. */
import { connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";
import { ALICE, createTestAuth, signed } from "./test-keys.js";

const CLOSE_PATH = "/api/trade/position/close";
/** Slower than the server's own look at its sockets, faster than its patience. */
const DRIP_MS = 3_000;
/** A server without patience would keep the sockets for good. */
const TEST_MS = 90_000;

let harness: Harness | null = null;
afterEach(async () => {
  await harness?.stop();
  harness = null;
});

/** Writes `first`, then `drip` again and again; resolves with what came when the server closes the connection. */
function closing(port: number, first: string, drip: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(first));
    const timer = setInterval(() => {
      if (drip !== "") socket.write(drip);
    }, DRIP_MS);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
    });
    socket.on("close", () => {
      clearInterval(timer);
      resolve(received.split("\r\n", 1)[0] ?? "");
    });
  });
}

it(
  "a head that never ends is closed without an answer, a body that never ends with 408, however they trickle in",
  async () => {
    harness = await startHarness({ auth: createTestAuth(), server: { bodyDeadlineMs: 1_000 } });
    const { port } = harness.server;
    const keys = Object.entries(signed(ALICE, { method: "POST", target: CLOSE_PATH, body: "{}" }))
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    const head = `POST ${CLOSE_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${keys}`;
    const read = "GET /api/time HTTP/1.1\r\nHost: localhost\r\n";
    const timeout = "HTTP/1.1 408 Request Timeout";
    const rows: readonly (readonly [first: string, drip: string, answer: string])[] = [
      [" ", "", ""],
      [read, "", ""],
      [`${read}X-Slow: `, "a", ""],
      [head, "", ""],
      [`${head}X-Slow: `, "a", ""],
      [`${head}Content-Length: 1000\r\n\r\n{`, "", timeout],
      [`${head}Content-Length: 1000\r\n\r\n{`, " ", timeout],
      [`${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, "1\r\n \r\n", timeout],
      [`${read}Content-Length: 1000\r\n\r\n`, "a", "HTTP/1.1 200 OK"],
    ];
    const answers = await Promise.all(rows.map(([first, drip]) => closing(port, first, drip)));
    expect(answers).toEqual(rows.map(([, , answer]) => answer));
    expect(harness.one.placed.length).toBe(0);
  },
  TEST_MS,
);
