/**
 * Marked secrets through every operation of the table, the stream, the admin socket and the command line of a service in
 * signed mode and of one in public mode, at debug level: in their places, in wrong ones, refused at each check, and
 * under each fault of the venues. One seals under a key of a file, the other under a passphrase.
 * Afterwards everything that came out is searched for them. A secret may be in one reply only: the one that made it.
 *
 * Each fault of the venues comes in one of the two modes, and the command line, whose programs know no mode, in the
 * first; `FAULTS=ALL` plays all of it in both.
 */
import { connect } from "node:net";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Agent, request as undiciRequest } from "undici";
import { WebSocket } from "ws";
import { signed } from "../../../gateway/test/test-keys.js";
import { SCOPES, type Scope } from "../../../schemas/operation.js";
import { STREAM_PATH } from "../../../schemas/asyncapi.js";
import { freshMs, type SweepKey, type SweepParts, type SweepRequest, sweepRequests } from "../support/canary-sweep.js";
import { faultedRequests, strikesOf, VENUE_FAULTS } from "../support/canary-faults.js";
import { credentialsOf, type LocalPair, PAIR_VENUES, startLocalPair, type Trader } from "../support/local-pair.js";
import { filesOf, SecretSearch } from "../support/secret-search.js";
import { type Environment, type ServiceRun, SignedBench } from "../support/signed-service.js";

const CANARY_KEY = "CANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkeyCANARYkey1";
const CANARY_SECRET = "CANARYsecretCANARYsecretCANARYsecretCANARYsecretCANARYsecretCAN2";
/** Of the form of ours, so that only what it is keeps it out. */
const WRONG_SECRET = "sk_CANARYwrongCANARYwrongCANARYwrongCANARYwrong";
const WORDS = "canary horse battery staple canary";
const KEK = Buffer.from("c0ffee00deadbeef11223344556677889900aabbccddeeff0102030405060708", "hex");
const NEXT_KEK = Buffer.from("c1ffee00deadbeef11223344556677889900aabbccddeeff0102030405060708", "hex");
/** Requests that wait for nothing of each other. */
const AT_ONCE = 8;
/** A ceiling: a shared machine may take its cores away for minutes. */
const REPLY_MS = 300_000;

let bench: SignedBench;
let pair: LocalPair;
let trader: Trader;
/** Whose requests run into faults of the venues. */
let faulted: Trader;
const agent = new Agent({ connections: AT_ONCE, headersTimeout: REPLY_MS, bodyTimeout: REPLY_MS });

beforeAll(async () => {
  bench = new SignedBench();
  pair = await startLocalPair({ seed: 14 });
  trader = pair.addTrader("canary", {
    positions: { BTC: "3", ETH: "-30" },
    apiKey: CANARY_KEY,
    apiSecret: CANARY_SECRET,
  });
  faulted = pair.addTrader("canary under faults", { positions: { BTC: "5" } });
});
afterAll(async () => {
  bench.dispose();
  await agent.destroy();
  await pair.stop();
});

function newSearch(): SecretSearch {
  const search = new SecretSearch();
  search.addText("api key of the venue", CANARY_KEY);
  search.addText("api secret of the venue", CANARY_SECRET);
  search.addText("wrong secret", WRONG_SECRET);
  search.addText("passphrase", WORDS);
  search.addBytes("kek", KEK);
  search.addBytes("next kek", NEXT_KEK);
  for (const [name, key] of Object.entries({
    key: trader.venueone.privateKey,
    agent: trader.venueone.agentKey,
    "second agent": trader.venuetwo.agentKey,
  }))
    search.addBytes(`private ${name}`, Buffer.from(key.slice(2), "hex"));
  search.addBytes("agent under faults", Buffer.from(faulted.venueone.agentKey.slice(2), "hex"));
  search.addText("api key under faults", faulted.venuetwo.apiKey);
  search.addText("api secret under faults", faulted.venuetwo.apiSecret);
  return search;
}

/** Replies with their heads, in no order. */
async function sendAll(url: string, requests: readonly SweepRequest[], search: SecretSearch): Promise<string[]> {
  const waiting = [...requests];
  const replies: string[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { what, method, target, body } = next;
      const headers = next.headers();
      const { "x-api-signature": signature = "" } = headers;
      if (/^[0-9a-f]{64}$/.test(signature)) search.addSignature(signature);
      const options = { method, headers, dispatcher: agent, ...(body === undefined ? {} : { body }) };
      const reply = await undiciRequest(url + target, options);
      replies.push(`${what} ${reply.statusCode}\n${JSON.stringify(reply.headers)}\n${await reply.body.text()}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return replies;
}

/**
 * Sends frames one after another on a new connection, then does something else; what arrives until all is answered, or
 * it is closed.
 */
async function framesOf(
  port: number,
  frames: readonly (object | string)[],
  meanwhile: () => Promise<void> = async () => {},
): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${STREAM_PATH}`, { perMessageDeflate: false });
  const received: string[] = [];
  const closed = new Promise<void>((resolve) => {
    socket.on("close", (code, reason) => {
      received.push(`closed ${code} ${reason.toString()}`);
      resolve();
    });
    socket.on("error", () => {});
  });
  const answered = (): number => received.filter((text) => /"type":"(?!update|heartbeat)/.test(text)).length;
  const enough = new Promise<void>((resolve) =>
    socket.on("message", (data) => {
      received.push(String(data));
      if (received.some((text) => text.includes('"last"'))) resolve();
    }),
  );
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const send = (frame: object | string): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  };
  for (const frame of frames) send(frame);
  await meanwhile();
  send({ op: "ping", id: "last" });
  await Promise.race([closed, enough]);
  socket.close();
  await closed;
  expect(answered()).toBeGreaterThan(0);
  return received.join("\n");
}

function authFrame(key: SweepKey): object {
  const timestamp = freshMs();
  const headers = signed(key, { target: STREAM_PATH, timestamp });
  return { op: "auth", apiKey: key.keyId, timestamp, signature: headers["x-api-signature"] };
}

async function streamSweep(service: ServiceRun, { all, revoked, credentials }: SweepParts, tickets: readonly string[]) {
  const subscribe = (topic: string) => ({ op: "subscribe", topic, exchanges: ["venueone", "venuetwo"], credentials });
  const wrong = { venueone: { privateKey: CANARY_SECRET }, venuetwo: { apiKey: all.secret, apiSecret: WRONG_SECRET } };
  const [ticket = "", unused = ""] = tickets;
  const privately = [
    ...[subscribe("positions"), subscribe("orders"), { ...subscribe("positions"), credentials: wrong }],
    { op: "subscribe", topic: CANARY_SECRET, symbols: [all.secret], credentials },
    { op: "cancelOnDisconnect", credentials, exchanges: ["venuetwo"] },
    { op: "cancelOnDisconnect", enabled: false },
    { op: "resume", subs: [{ sub: all.secret, epoch: "e", seq: 1 }], credentials, exchanges: ["venuetwo"] },
    { op: all.secret, id: all.secret.slice(3, 20), [CANARY_SECRET]: unused },
    { op: "auth", ticket: unused, id: "second" },
  ];
  return [
    await framesOf(service.port, [authFrame(all), ...privately]),
    await framesOf(service.port, [{ op: "auth", ticket }, ...privately]),
    await framesOf(service.port, [{ op: "auth", ticket }]),
    await framesOf(service.port, [{ op: "auth", ticket: all.secret }]),
    await framesOf(service.port, [authFrame({ ...all, secret: WRONG_SECRET })]),
    await framesOf(service.port, [authFrame({ ...all, keyId: all.secret })]),
    await framesOf(service.port, [{ op: "auth", apiKey: all.keyId, timestamp: freshMs(), signature: all.secret }]),
    await framesOf(service.port, [authFrame(revoked)]),
    await framesOf(service.port, [...privately, `{"op":"auth","ticket":"${unused}`]),
  ];
}

/** Faults of the venues while closes, an entry, reads and streams with a trader's secrets are under way. */
async function faultSweep(
  service: ServiceRun,
  key: SweepKey,
  search: SecretSearch,
  faults: typeof VENUE_FAULTS,
): Promise<string[]> {
  const credentials = credentialsOf(faulted);
  const { walletAddress } = faulted.venuetwo;
  const subscribe = (topic: string) => ({ op: "subscribe", topic, exchanges: PAIR_VENUES, credentials, walletAddress });
  const shown: string[] = [];
  for (const [name, specs] of faults) {
    const end = pair.fault(PAIR_VENUES, ...specs);
    // A breaker that is open after the fault before keeps requests from this one.
    const strike = async (): Promise<void> => {
      do {
        const requests = faultedRequests(key, credentials, walletAddress);
        shown.push(...(await sendAll(service.url, requests, search)));
      } while (strikesOf(pair) === 0);
    };
    shown.push(
      `${name}\n${await framesOf(service.port, [authFrame(key), subscribe("positions"), subscribe("orders")], strike)}`,
    );
    end();
  }
  return shown;
}

/** Sends lines to the admin socket, each on a connection of its own; what comes back. */
async function adminSweep(environment: Environment, secret: string): Promise<string[]> {
  const lines = [
    `{"op":"keys.create","params":{"scopes":["read"],"label":"${secret}"}}`,
    `{"op":"keys.create","params":{"scopes":["read"],"ownerId":"${secret}"}}`,
    `{"op":"keys.create","params":{"scopes":["${secret}"],"ips":["${secret}"]}}`,
    `{"op":"keys.create","params":{"scopes":["read"],"${secret}":"${secret}"}}`,
    `{"op":"keys.rotate","params":{"keyId":"${secret}"}}`,
    `{"op":"keys.revoke","params":{"keyId":"${secret}"}}`,
    `{"op":"keys.revoke","params":{"keyId":{"${secret}":1}}}`,
    `{"op":"audit.page","params":{"cursor":"${secret}"}}`,
    `{"op":"seal.rotate","params":{"nextKeyFile":"/${secret}"}}`,
    `{"op":"${secret}"}`,
    `{"op":"status","${secret}":1}`,
    `${secret}`,
    `{"op":"status","params":{"${secret}":1}}`,
  ];
  const path = environment["ADMIN_SOCKET"] ?? join(environment["DATA_DIR"] ?? "", "admin.sock");
  return Promise.all(
    lines.map(
      (line) =>
        new Promise<string>((resolve, reject) => {
          let text = "";
          const socket = connect({ path, allowHalfOpen: true });
          socket.on("data", (chunk: Buffer) => {
            text += chunk.toString("latin1");
          });
          // A server that ends a refused connection may reset it: what it said is here.
          socket.on("error", (error: NodeJS.ErrnoException) =>
            error.code === "ECONNRESET" || error.code === "EPIPE" ? resolve(text) : reject(error),
          );
          socket.on("end", () => {
            socket.end();
            resolve(text);
          });
          socket.end(`${line}\n`);
        }),
    ),
  );
}

async function cliSweep(environment: Environment, { all, revoked }: SweepParts): Promise<string[]> {
  const outputs: string[] = [];
  for (const args of [
    ["keys", "list"],
    ["keys", "list", "--json"],
    ["keys", "create", "--scope", "read", "--owner", all.secret],
    ["keys", "create", "--scope", all.secret],
    ["keys", "create", "--scope", "read", "--label", WRONG_SECRET],
    ["keys", "rotate", all.secret],
    ["keys", "revoke", WRONG_SECRET],
    ["keys", "revoke", revoked.keyId],
    ["audit", "--json", "--limit", "1000"],
    ["status", "--json"],
    ["tls", "reload"],
  ]) {
    const { stdout, stderr } = await bench.unwind(args, environment);
    outputs.push(`unwind ${args.slice(0, 2).join(" ")}\n${stdout}\n${stderr}`);
  }
  return outputs;
}

/** To the next sealing key, while requests are served. */
async function rotateSeal(environment: Environment): Promise<string> {
  const path = join(bench.folder, `next-${environment["AUTH_MODE"]}.kek`);
  writeFileSync(path, NEXT_KEK.toString("hex"), { mode: 0o600 });
  const { code, stdout, stderr } = await bench.unwind(["seal", "rotate", "--to-file", path, "--json"], environment);
  expect([code, JSON.parse(stdout).isDone], stderr).toEqual([0, true]);
  return `${stdout}\n${stderr}`;
}

async function makeKeys(environment: Environment, search: SecretSearch) {
  const make = async (name: string, scopes: readonly Scope[]): Promise<SweepKey> => {
    const key = await bench.makeKey(environment, scopes);
    search.addText(`secret of ${name}`, key.secret);
    return key;
  };
  const withScope = {} as Record<Scope, SweepKey>;
  for (const scope of SCOPES) withScope[scope] = await make(scope, [scope]);
  const [all, revoked] = [await make("all", SCOPES), await make("revoked", SCOPES)];
  const gone = await bench.unwind(["keys", "revoke", revoked.keyId], environment);
  expect(gone.code).toBe(0);
  const turned = await bench.unwind(["keys", "rotate", all.keyId, "--overlap", "1h", "--json"], environment);
  const { secret } = JSON.parse(turned.stdout) as { secret: string };
  search.addText("rotated secret of all", secret);
  return { withScope, all: { ...all, secret }, former: all, revoked };
}

async function ticketsOf(url: string, key: SweepKey, count: number, search: SecretSearch): Promise<string[]> {
  const tickets: string[] = [];
  const target = "/api/stream/ticket";
  while (tickets.length < count) {
    const headers = signed(key, { method: "POST", target, timestamp: freshMs() });
    const { statusCode, body } = await undiciRequest(url + target, { method: "POST", headers, dispatcher: agent });
    const reply = (await body.json()) as { code?: string; data: { ticket: string } };
    // The machine stood still between signature and arrival.
    if (reply.code === "AUTH_TIMESTAMP_OUT_OF_WINDOW") continue;
    if (statusCode !== 200) throw new Error(`no ticket: ${statusCode} ${reply.code}`);
    search.addText("ticket", reply.data.ticket);
    tickets.push(reply.data.ticket);
  }
  return tickets;
}

/** What everyone, or an operator, can read afterwards. */
async function shownBy(url: string, key: SweepKey, search: SecretSearch): Promise<string[]> {
  const paths = ["/metrics", "/openapi.json", "/asyncapi.json", "/api/status", "/api/limits", "/api/trade/kill-switch"];
  const history = ["fills", "routing", "execution-quality"].map((kind) => `/api/history/${kind}?limit=1000`);
  const requests = [...paths, ...history].map((target) => ({
    ...{ what: target, method: "GET" as const, target, body: undefined },
    headers: () => signed(key, { target, timestamp: freshMs() }),
  }));
  return sendAll(url, requests, search);
}

const MODES = ["signed", "public"] as const;
const IS_WHOLE = process.env["FAULTS"] === "ALL";

/** The faults of a mode: what a fault makes come out is the same in both. */
function faultsOf(mode: (typeof MODES)[number]): typeof VENUE_FAULTS {
  if (IS_WHOLE) return VENUE_FAULTS;
  return VENUE_FAULTS.filter((_, index) => index % MODES.length === MODES.indexOf(mode));
}

describe.each(MODES)("in %s mode marked secrets", (mode) => {
  it("come out nowhere, whatever the outcome of the requests that carry them", async () => {
    const search = newSearch();
    const environment = bench.settings(pair, mode, KEK, {
      ...{ AUTH_MODE: mode, LOG_LEVEL: "debug", RECORDING: "true", STREAM_FRAMES_PER_SECOND: "1000" },
      // Sealed under a passphrase in one of the modes.
      ...(mode === "public" ? { KEK_FILE: "", KEK_PASSPHRASE: WORDS } : {}),
    });
    const service = await bench.start(environment);
    const keys = await makeKeys(environment, search);
    const parts: SweepParts = {
      ...keys,
      credentials: credentialsOf(trader),
      walletAddress: trader.venuetwo.walletAddress,
      misplaced: [keys.all.secret, CANARY_SECRET, WRONG_SECRET, trader.venueone.privateKey],
      wrongSecret: WRONG_SECRET,
    };
    const requests = sweepRequests(parts).filter(({ what }) => !what.startsWith("streamTicket: right"));
    const replies = await sendAll(service.url, requests, search);
    const former = sweepRequests({ ...parts, all: keys.former }).filter(({ what }) =>
      /close|open.*: right$/i.test(what),
    );
    replies.push(...(await sendAll(service.url, former, search)));
    const tickets = await ticketsOf(service.url, keys.all, 2, search);
    const outputs = new Map<string, string>();
    const add = (name: string, texts: readonly string[]): void => {
      for (const text of texts) outputs.set(`${name} ${outputs.size} ${text.slice(0, 60)}`, text);
    };
    add(
      "reply",
      replies.filter((text) => !text.includes('"ticket":"st_')),
    );
    add("frames", await streamSweep(service, parts, tickets));
    add("admin reply", await adminSweep(environment, keys.all.secret));
    add("admin reply", await adminSweep(environment, WRONG_SECRET));
    if (IS_WHOLE || mode === MODES[0]) add("command", await cliSweep(environment, parts));
    add("under faults", await faultSweep(service, keys.all, search, faultsOf(mode)));
    add("command", [await rotateSeal(environment)]);
    add("shown", await shownBy(service.url, keys.all, search));
    for (const [path, text] of filesOf(environment["DATA_DIR"] ?? "")) outputs.set(`${path} while it runs`, text);
    await service.stop();
    outputs.set("stdout and stderr", service.output());
    // Most files of the record are written once.
    for (const [path, text] of filesOf(environment["DATA_DIR"] ?? ""))
      if (outputs.get(`${path} while it runs`) !== text) outputs.set(path, text);

    // The search has what it needs: requests were served, refused and logged, rows were stored.
    expect(replies.length).toBeGreaterThan(500);
    for (const code of ["200", "400", "401", "403"])
      expect(replies.some((text) => text.includes(` ${code}\n`))).toBe(true);
    // Requests that come after their window carry secrets no further than to the door.
    const right = replies.filter((text) => /^\w+: right \d/.test(text));
    const late = right.filter((text) => text.includes("AUTH_TIMESTAMP_OUT_OF_WINDOW"));
    expect(late.length).toBeLessThan(right.length / 4);
    expect(service.output().split("\n").length).toBeGreaterThan(100);
    expect(search.count).toBeGreaterThan(500);
    const found = [...outputs].flatMap(([name, text]) => search.in(text).map((secret) => `${secret} in ${name}`));
    expect(found).toEqual([]);
  }, 1_200_000);
});

describe("the search", () => {
  it("finds a planted leak in any spelling", () => {
    const search = newSearch();
    const text = Buffer.from(CANARY_SECRET);
    for (const planted of [
      ...[CANARY_SECRET, text.toString("base64"), `x${Buffer.from(`x${CANARY_SECRET}`).toString("base64")}`],
      text.toString("hex").toUpperCase(),
    ])
      expect(search.in(`…${planted}…`)).toEqual(["api secret of the venue"]);
    for (const planted of [KEK.toString("latin1"), KEK.toString("hex"), KEK.toString("base64url")])
      expect(search.in(`a${planted}b`)).toContain("kek");
    search.addSignature("ab".repeat(32));
    expect(search.in(`"signature":"${"ab".repeat(32)}"`)).toHaveLength(1);
    expect(
      search.in(
        readFileSync(import.meta.filename, "latin1")
          .replaceAll("CANARY", "")
          .replaceAll(WORDS, ""),
      ),
    ).toEqual(["kek", "next kek"]);
  });
});
