/** docs/api-keys.md: its shell example signs what this service accepts, and its vectors and figures are those of the code. */
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import type { SignedRequest } from "../http/caller.js";
import { OVERLAP_MAX_MS } from "./key-wish.js";
import { MARK_AHEAD_MS } from "./high-water-mark.js";
import { IP_LIST_MAX } from "./ip-list.js";
import { SEEN_PER_KEY_MAX } from "./replay-window.js";
import { outcome, startAuth, WISH } from "./test/auth-harness.js";
import { TICKET_MS, TICKETS_PER_KEY_MAX } from "./tickets.js";

const PAGE = readFileSync(fileURLToPath(new URL("../../docs/api-keys.md", import.meta.url)), "utf8");
let server: Server | null = null;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = null;
});

function header(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === "string" ? value : null;
}

/** A request as it arrived. */
async function received(request: IncomingMessage): Promise<SignedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = {
    apiKey: header(request, "x-api-key"),
    timestamp: header(request, "x-api-timestamp"),
    recvWindow: header(request, "x-api-recv-window"),
    signature: header(request, "x-api-signature"),
    secret: header(request, "x-api-secret"),
  };
  const { method = "", url = "" } = request;
  return { headers, method, target: url, body: Buffer.concat(chunks), address: "127.0.0.1" };
}

it("the shell example signs a GET and a POST that are accepted", async () => {
  // The example takes the time of the machine: the authenticator's clock shows what each request says.
  const clock = new VirtualClock(createSystemClock().wallMs());
  const { keys, auth } = await startAuth({ clock });
  const made = await keys.create(WISH);
  const seen: string[] = [];
  const listening = createServer((request, response) => {
    void received(request).then((asked) => {
      clock.stepWall(Number(asked.headers.timestamp) - clock.wallMs());
      seen.push(`${asked.method} ${asked.target} ${outcome(auth.authenticate(asked))}`);
      response.end("{}");
    });
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const address = listening.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const [, script = ""] = PAGE.match(/```sh\n([\s\S]*?)```/) ?? [];
  const env = { PATH: process.env["PATH"], KEY: made.key.keyId, SECRET: made.secret, BASE: `http://127.0.0.1:${port}` };
  await promisify(execFile)("sh", ["-e", "-u", "-c", script], { env });
  expect(seen).toEqual(["GET /api/limits ok", "POST /api/trade/position/close ok"]);
});

it("the vectors are right", () => {
  const rows = [...PAGE.matchAll(/^\| (GET|POST) `([^`]+)` \| (?:`([^`]+)` )?\| `([0-9a-f]{64})` \|$/gm)];
  expect(rows).toHaveLength(2);
  for (const [, method, target, body = "", signature] of rows) {
    const mac = createHmac("sha256", "sk_test_8Jx2").update(`1790000000000${method}${target}${body}`);
    expect(mac.digest("hex")).toBe(signature);
  }
});

it("the figures are those of the code", () => {
  for (const figure of [
    `${SEEN_PER_KEY_MAX.toLocaleString("en")}`,
    `at most ${MARK_AHEAD_MS / 1_000} seconds after the crash`,
    `up to ${IP_LIST_MAX} IPv4`,
    `up to ${OVERLAP_MAX_MS / 86_400_000} days`,
    `for ${TICKET_MS / 1_000} seconds`,
    `${TICKETS_PER_KEY_MAX} tickets`,
  ])
    expect(PAGE).toContain(figure);
});
