/**
 * The service on a volume that fills: exits go on to the last byte and beyond it, openings stop before them, market
 * data stops first, and nothing acknowledged is lost. The volume is real, in a mount namespace.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CHDB_MISSING, NEEDS_CHDB } from "../../../gateway/children/test/sidecar.js";
import { ContractJudge, type Reply, TestClient } from "../../../gateway/test/client.js";
import type { RecordingStatus, StoreStatusRow } from "../../../schemas/service.js";
import {
  type Answer,
  type CloseTrial,
  closeTrial,
  closeUntilFinal,
  judgeCloses,
  sendClose,
} from "../support/close-judge.js";
import { AMPLE_BUDGETS, GatewayBench, type GatewayProcess } from "../support/gateway-process.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "../support/local-pair.js";
import { MOUNT_MISSING, NEEDS_MOUNT, SmallVolume } from "../support/small-volume.js";
import { pause, waitUntil } from "../support/system.js";

const SEED = 20_261_121;
const MIB = 1 << 20;
/** Time in which this process could run. */
const TOLD_MS = 60_000;
const CLOSE_MS = 60_000;
const POLL_MS = 50;
/** Closes at once, as bots send them. */
const CLOSERS = 4;

let gateways: GatewayBench;
let pair: LocalPair;
const running: { gateway: GatewayProcess; client: TestClient }[] = [];
const volumes: SmallVolume[] = [];

beforeAll(async () => {
  gateways = new GatewayBench();
  pair = await startLocalPair({ seed: SEED, flow: { levelNotional: 400_000 } });
});
afterEach(async () => {
  for (const { gateway, client } of running.splice(0)) {
    gateway.child.kill("SIGKILL");
    await gateway.gone;
    await client.stop();
  }
  for (const volume of volumes.splice(0)) await volume.stop();
});
afterAll(async () => {
  gateways.dispose();
  await pair.stop();
});

async function volumeOf(sizeMiB: number): Promise<SmallVolume> {
  const volume = await SmallVolume.start(sizeMiB);
  volumes.push(volume);
  return volume;
}

async function start(volume: SmallVolume, environment: Readonly<Record<string, string>> = {}) {
  const settings = { ...AMPLE_BUDGETS, LOG_LEVEL: "warn", ...environment };
  const gateway = await gateways.start(pair, volume.directory, settings, (command) => volume.inside(command));
  const client = new TestClient(gateway.url, new ContractJudge());
  running.push({ gateway, client });
  return { gateway, client };
}

const trader = (label: string): Trader => pair.addTrader(label, { positions: { BTC: "40", ETH: "-400" } });

function trialsOf(own: Trader, count: number, from = 0): CloseTrial[] {
  return Array.from({ length: count }, (_, index) =>
    closeTrial(own, `${own.label}-${from + index}`, {
      symbol: index % 2 === 0 ? "BTC" : "ETH",
      direction: index % 2 === 0 ? "LONG" : "SHORT",
      size: index % 2 === 0 ? "0.02" : "0.4",
      preferredExchange: index % 4 < 2 ? "venueone" : "venuetwo",
      routingOptions: { deadlineMs: 5_000 },
    }),
  );
}

/**
 * Runs closes to their end, several at once. Returns their final states, and the number of refusals for the store on
 * the way.
 */
async function closeAll(client: TestClient, trials: readonly CloseTrial[]): Promise<string[]> {
  const left = [...trials];
  const states: string[] = [];
  await Promise.all(
    Array.from({ length: CLOSERS }, async () => {
      for (let trial = left.shift(); trial !== undefined; trial = left.shift()) {
        const answer = await closeUntilFinal(pair, client, trial, CLOSE_MS);
        states.push(answer.data?.execution.state ?? "none");
      }
    }),
  );
  return states;
}

/** Leaves out refusals of a paused machine: a commit has two seconds. */
const refusedForRoom = (trials: readonly CloseTrial[]): string[] =>
  trials.flatMap(({ key, answers }) => answers.filter(isOfRoom).map(() => key));

const isOfRoom = ({ code, reason }: Pick<Answer, "code" | "reason">): boolean =>
  code === "STORE_UNAVAILABLE" && (reason === "DISK_FULL" || reason === "DISK_LOW");

/**
 * Repeats a close under its key while it is refused for anything but space: books are old after a pause of the machine.
 */
async function open(client: TestClient, own: Trader, key: string): Promise<Reply> {
  const order = { symbol: "BTC", direction: "LONG", size: "0.01", preferredExchange: "venuetwo" };
  let last: Reply | null = null;
  const ask = async (): Promise<Reply> => {
    last = await client.send("/api/trade/position/open", {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ credentials: credentialsOf(own), ...order }),
    });
    return last;
  };
  const isOver = ({ status, body }: Reply): boolean => {
    const { code = null, details } = body as unknown as {
      readonly code?: string;
      readonly details?: { readonly reason?: string };
    };
    return status === 200 || isOfRoom({ code, reason: details?.reason ?? null });
  };
  return says(`the opening ${key} to be taken or refused for room`, ask, isOver);
}

interface ReadyPart {
  readonly name: string;
  readonly detail: string;
}

async function storeDetail(client: TestClient): Promise<string> {
  const { body } = await client.get("/ready");
  const reply = body as unknown as {
    readonly parts?: readonly ReadyPart[];
    readonly details?: { readonly components: readonly ReadyPart[] };
  };
  return (reply.parts ?? reply.details?.components ?? []).find(({ name }) => name === "store")?.detail ?? "";
}

/** Asks until `holds`; the failure shows the last answer. */
async function says<T>(what: string, ask: () => Promise<T>, holds: (said: T) => boolean): Promise<T> {
  let said = await ask();
  let isOver = false;
  const asking = (async (): Promise<void> => {
    while (!isOver && !holds(said)) {
      await pause(POLL_MS);
      said = await ask();
    }
  })();
  try {
    await waitUntil(what, TOLD_MS, () => holds(said));
  } catch (error) {
    throw new Error(`${String(error)}; it says ${JSON.stringify(said)}`);
  } finally {
    isOver = true;
    await asking;
  }
  return said;
}

const told = (client: TestClient, expected: RegExp): Promise<string> =>
  says(
    `the store says ${String(expected)}`,
    () => storeDetail(client),
    (said) => expected.test(said),
  );

async function recordOf(client: TestClient): Promise<RecordingStatus> {
  const { body } = await client.get("/api/status");
  return (body as unknown as { readonly data: { readonly recording: RecordingStatus } }).data.recording;
}

/** Pages that the store keeps for closes on a full volume; it makes them little by little. */
const reserved = (client: TestClient, bytes: number): Promise<number> =>
  says(
    `${bytes} bytes kept ahead`,
    async () => {
      const { body } = await client.get("/api/status");
      return (body as unknown as { readonly data: { readonly store: StoreStatusRow } }).data.store.reserveBytes;
    },
    (now) => now >= bytes,
  );

const rowOf = ({ tables }: RecordingStatus, name: string) => tables.find(({ table }) => table === name);
const stored = (record: RecordingStatus, table: string): number => rowOf(record, table)?.stored ?? 0;
const dropped = (record: RecordingStatus, table: string): number => rowOf(record, table)?.dropped ?? 0;

const recordSays = (client: TestClient, what: string, holds: (record: RecordingStatus) => boolean) =>
  says(what, () => recordOf(client), holds);

function judged(trials: readonly CloseTrial[]): readonly string[] {
  const lots = (venue: "venueone" | "venuetwo", _trader: Trader, symbol: string): number => initial[venue][symbol] ?? 0;
  return judgeCloses(pair, trials, lots).violations;
}

let initial: Record<"venueone" | "venuetwo", Record<string, number>>;
function remember(own: Trader): void {
  const of = (venue: "venueone" | "venuetwo") => ({
    BTC: pair.positionLots(venue, own, "BTC"),
    ETH: pair.positionLots(venue, own, "ETH"),
  });
  initial = { venueone: of("venueone"), venuetwo: of("venuetwo") };
}

describe.skipIf(MOUNT_MISSING)(`a small volume ${MOUNT_MISSING ? NEEDS_MOUNT : ""}`, () => {
  it("of 40 MiB takes a service that opens and closes", { timeout: 300_000 }, async () => {
    const volume = await volumeOf(40);
    const own = trader("small");
    remember(own);
    const { client } = await start(volume, { RECORDING: String(!CHDB_MISSING) });
    expect((await open(client, own, "small-open")).status).toBe(200);
    const trials = trialsOf(own, 8);
    expect(await closeAll(client, trials)).toEqual(trials.map(() => "COMPLETED"));
    expect(refusedForRoom(trials)).toEqual([]);
  });

  it("of 64 MiB that others fill: openings stop, exits go on, and go on where it is full", {
    timeout: 600_000,
  }, async () => {
    const volume = await volumeOf(64);
    const own = trader("filled");
    const opener = trader("filled-opener");
    remember(own);
    let { gateway, client } = await start(volume);
    const trials = trialsOf(own, 20);
    expect(await closeAll(client, trials)).toEqual(trials.map(() => "COMPLETED"));
    expect((await open(client, opener, "filled-open-1")).status).toBe(200);

    volume.fillTo(8 * MIB);
    expect(await told(client, /DISK_LOW/)).toMatch(/nothing is opened, \d+\.\d MiB free$/);
    const refused = await open(client, opener, "filled-open-2");
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { success: false, code: "STORE_UNAVAILABLE", details: { reason: "DISK_LOW" } },
    ]);
    expect((await client.get("/ready")).status).toBe(200);
    const low = trialsOf(own, 20, 20);
    expect(await closeAll(client, low)).toEqual(low.map(() => "COMPLETED"));

    await reserved(client, 7 * MIB);
    volume.fillTo(0);
    expect(volume.freeBytes).toBe(0);
    const full = trialsOf(own, 100, 40);
    expect(await closeAll(client, full)).toEqual(full.map(() => "COMPLETED"));

    // A kill on a full volume: everything acknowledged is there, and the next service closes on.
    gateway.child.kill("SIGKILL");
    await gateway.gone;
    ({ gateway, client } = await start(volume));
    const all = [...trials, ...low, ...full];
    expect(await closeAll(client, all)).toEqual(all.map(() => "COMPLETED"));
    const after = trialsOf(own, 20, 140);
    expect(await closeAll(client, after)).toEqual(after.map(() => "COMPLETED"));
    expect(refusedForRoom([...all, ...after])).toEqual([]);
    expect(judged([...all, ...after])).toEqual([]);

    volume.clear();
    await told(client, /^\d+ batches pending$/);
    // A refusal is not final: the same key continues.
    expect((await open(client, opener, "filled-open-2")).status).toBe(200);
  });

  it("to the last page of its own: what is refused was not sent, and goes on when there is room", async () => {
    const volume = await volumeOf(24);
    const own = trader("brim");
    remember(own);
    const { client } = await start(volume);
    const trials = trialsOf(own, 4);
    await closeAll(client, trials);
    await reserved(client, 2 * MIB);
    volume.fillTo(0);
    const refused: CloseTrial[] = [];
    const placed = (): number =>
      pair.venueone.log.records({ action: "place" }).length + pair.venuetwo.log.records({ action: "place" }).length;
    while (refused.length < CLOSERS) {
      const [trial] = trialsOf(own, 1, trials.length) as [CloseTrial];
      trials.push(trial);
      const before = placed();
      if (!isOfRoom(await sendClose(pair, client, trial))) continue;
      refused.push(trial);
      expect(placed()).toBe(before);
    }
    expect(trials.length).toBeGreaterThan(40);
    expect((await client.get("/health")).status).toBe(200);
    expect([(await client.get("/ready")).status, await storeDetail(client)]).toEqual([
      503,
      expect.stringMatching(/^not writable: DISK_FULL/),
    ]);

    volume.clear();
    await told(client, /^\d+ batches pending$/);
    expect(await closeAll(client, refused)).toEqual(refused.map(() => "COMPLETED"));
    for (const trial of trials) await closeUntilFinal(pair, client, trial, CLOSE_MS);
    expect(judged(trials)).toEqual([]);
  }, 300_000);

  it(`with the record beside the orders: market data gives way, fills and decisions do not ${CHDB_MISSING ? NEEDS_CHDB : ""}`, {
    timeout: 600_000,
    skip: CHDB_MISSING,
  }, async () => {
    const volume = await volumeOf(96);
    const own = trader("recorded");
    remember(own);
    const { client } = await start(volume, { RECORDING: "true" });
    const trials: CloseTrial[] = [];
    const close = async (count: number): Promise<void> => {
      const more = trialsOf(own, count, trials.length);
      trials.push(...more);
      expect(await closeAll(client, more)).toEqual(more.map(() => "COMPLETED"));
    };
    await recordSays(client, "ticks are stored", (record) => record.state === "on" && stored(record, "ticks") > 0);
    await close(10);

    volume.fillTo(12 * MIB);
    await recordSays(client, "market data gives way", ({ shed }) => shed === "MARKET");
    const before = await recordOf(client);
    await close(20);
    await recordSays(client, "ticks are shed", (record) => dropped(record, "ticks") > dropped(before, "ticks"));

    await reserved(client, 8 * MIB);
    volume.fillTo(0);
    await close(40);
    expect((await client.get("/health")).status).toBe(200);

    volume.clear();
    const restored = await recordOf(client);
    await recordSays(
      client,
      "all is recorded again",
      (record) =>
        record.shed === "NOTHING" && record.outbox.rows === 0 && stored(record, "ticks") > stored(restored, "ticks"),
    );
    const record = await recordOf(client);
    expect([dropped(record, "fills"), dropped(record, "routing_decisions")]).toEqual([0, 0]);
    expect(stored(record, "routing_decisions")).toBeGreaterThanOrEqual(trials.length);
    expect(refusedForRoom(trials)).toEqual([]);
    expect(judged(trials)).toEqual([]);
  });
});
