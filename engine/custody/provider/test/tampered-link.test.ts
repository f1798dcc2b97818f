/**
 * Messages outside sessions with one bit flipped in the first, middle or last byte of each field: `Hello`, `State`, its
 * reply, `Abort`, and the headers of `Freeze` and `Frozen` (docs/mpc.md, 3.3, 8.7 and 11). What each does is written here
 * by the page; whatever it is, no active epoch goes, and once the messages are true the wallet signs, or an operator's
 * unfreeze mends it.
 */
import { afterAll, describe, expect, it, vi } from "vitest";
import { otherParty, type Party } from "../../mpc/base/parameters.js";
import { type Message, PROTOCOL_VERSION } from "../../mpc/wire/header.js";
import { MESSAGE } from "../../mpc/wire/message-types.js";
import type { CustodyBench } from "./custody-bench.js";
import { madeWallet, SIGNED, storedRow } from "./made-wallet.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const made = madeWallet();
const counts = new Map<string, number>();
afterAll(() => {
  process.stdout.write(`tampered messages of the link: ${[...counts].map((each) => each.join(" ")).join(", ")}\n`);
});

type Position = "first" | "middle" | "last";
const POSITIONS: readonly Position[] = ["first", "middle", "last"];
const BITS = { first: 0x80, middle: 0x10, last: 0x01 };

interface Field {
  readonly name: string;
  readonly bytes: number;
  /** By position, or one for all. */
  readonly gives: string | Readonly<Record<Position, string>>;
}

function offsetOf(fields: readonly Field[], field: Field): number {
  return fields.slice(0, fields.indexOf(field)).reduce((sum, { bytes }) => sum + bytes, 0);
}

function flippedAt(bytes: Uint8Array, at: number, length: number, position: Position): Buffer {
  const place = at + { first: 0, middle: length >> 1, last: length - 1 }[position];
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(place) ^ BITS[position], place);
  return changed;
}

const givenBy = ({ gives }: Field, position: Position) => (typeof gives === "string" ? gives : gives[position]);

/** What the receiver made of it, as one word. */
function found(both: CustodyBench, at: Party): string {
  if (both.events.some((event) => event.kind === "frozen" && event.party === at)) return "frozen";
  const alerts = both.eventsOf("alert").filter((alert) => alert.startsWith(`${at} `));
  if (alerts.length > 0) return alerts[0]?.slice(2) ?? "";
  return both.eventsOf("violation").some((each) => each.startsWith(`${at}`)) ? "violation" : "nothing";
}

/** From here on the messages are true: the wallet is there as it was, and signs. */
async function expectMended(both: CustodyBench, gives: string): Promise<void> {
  counts.set(gives, (counts.get(gives) ?? 0) + 1);
  both.link.fate = () => "pass";
  both.link.cut();
  await both.meet();
  await both.pass(12_000);
  const [before] = made.rows.map(storedRow);
  for (const rows of both.rows) {
    const row = storedRow(rows);
    expect(row?.activeEpoch).toBe(before?.activeEpoch);
    expect([...(rows.wallets.values().next().value?.shares.keys() ?? [])]).toContain(row?.activeEpoch);
  }
  if (gives === "frozen") {
    expect(await both.sign(made.id)).toBe("WALLET_FROZEN");
    both.cosigner.approve(made.id, 1);
    await both.told(both.service.refresh(made.id, 1));
  }
  expect(await both.sign(made.id)).toMatchObject(SIGNED);
}

const HELLO: readonly Field[] = [
  { name: "suite", bytes: 32, gives: "SUITE" },
  // 0x81, 0x11 and the receiver's own.
  { name: "party", bytes: 1, gives: "SAME_PARTY" },
  // Who lies about these says that it has another key, or other wallets, than it has.
  { name: "kekId", bytes: 8, gives: "none" },
  { name: "backupKeyId", bytes: 32, gives: "none" },
  { name: "bootId", bytes: 16, gives: "none" },
  { name: "inventory", bytes: 32, gives: "none" },
];

describe("a Hello with a flipped bit", () => {
  for (const from of [0, 1] as const)
    for (const field of HELLO)
      it(`in ${field.name} of party ${from} gives ${String(field.gives)}, and no session of a refused one starts`, async () => {
        for (const position of POSITIONS) {
          const both = await made.up();
          both.link.cut();
          const gives = givenBy(field, position);
          both.link.fate = (message, name, by) =>
            name === "hello" && by === from ? [changedBody(message, HELLO, field, position)] : "pass";
          both.link.connect();
          await both.quiet();
          const host = from === 1 ? both.service.status().problem : both.cosigner.host.greeting.problem;
          expect(host ?? "none", position).toBe(gives);
          if (gives !== "none") {
            expect([both.link.isUp, await both.sign(made.id)]).toEqual([false, "SIGNER_UNAVAILABLE"]);
            expect(both.link.log.filter((line) => line.endsWith("f1"))).toEqual([]);
          } else expect(await both.sign(made.id)).toMatchObject(SIGNED);
          await expectMended(both, gives);
        }
      });
});

const STATE: readonly Field[] = [
  // 130, 18 and 3: an authenticated notice of a freeze of the active epoch is obeyed, whatever brings it.
  { name: "status", bytes: 1, gives: { first: "violation", middle: "violation", last: "frozen" } },
  { name: "stage", bytes: 1, gives: "violation" },
  { name: "active epoch", bytes: 4, gives: { first: "RESTORED_STORE", middle: "RESTORED_STORE", last: "violation" } },
  { name: "prepared epoch", bytes: 4, gives: "violation" },
  { name: "active tag", bytes: 32, gives: "TAGS_DIFFER" },
  { name: "prepared tag", bytes: 32, gives: "violation" },
  { name: "ctr", bytes: 8, gives: "nothing" },
];

describe.each(["state", "stateReply"] as const)("a %s with a flipped bit", (kind) => {
  for (const from of [0, 1] as const)
    for (const field of STATE)
      it(`in ${field.name} of party ${from} has its effect by the rules, and drops no active epoch`, async () => {
        for (const position of POSITIONS) {
          const both = await made.up();
          both.link.cut();
          both.link.fate = (message, name, by) => {
            // Two inventories that differ make both tell all they have.
            if (name === "hello") return [changedBody(message, HELLO, HELLO[5] as Field, "last")];
            return name === kind && by === from ? [changedBody(message, STATE, field, position)] : "pass";
          };
          both.link.connect();
          await both.quiet();
          expect(both.link.log.filter((line) => line === `${from} ${kind}`).length).toBeGreaterThan(0);
          expect(found(both, otherParty(from)), position).toBe(givenBy(field, position));
          await expectMended(both, givenBy(field, position));
        }
      });
});

function changedBody(message: Message, fields: readonly Field[], field: Field, position: Position): Message {
  return { header: message.header, body: flippedAt(message.body, offsetOf(fields, field), field.bytes, position) };
}

/** Of a refusal by rule 9, which is one of destinations here. */
const ABORT: readonly Field[] = [
  { name: "class", bytes: 1, gives: "FAILED_TO_SIGN" },
  { name: "code", bytes: 1, gives: "FAILED_TO_SIGN" },
  { name: "detail", bytes: 2, gives: "POLICY_REFUSED" },
];

describe("an Abort with a flipped bit", () => {
  for (const field of ABORT)
    it(`in ${field.name} ends the session as ${String(field.gives)}, and freezes nothing`, async () => {
      for (const position of POSITIONS) {
        const both = await made.up();
        both.link.fate = (message, name) =>
          name === "abort" ? [changedBody(message, ABORT, field, position)] : "pass";
        expect(await both.sign(made.id, "t:no"), position).toBe(field.gives);
        expect(both.eventsOf("frozen")).toEqual([]);
        await expectMended(both, String(field.gives));
      }
    });

  it("in none is a refusal by that rule", async () => {
    expect(await (await made.up()).sign(made.id, "t:no")).toBe("DESTINATION_NOT_ALLOWED");
  });
});

const HEADER: readonly (Field & { readonly at: number })[] = [
  { name: "walletId", at: 2, bytes: 16, gives: "nothing" },
  { name: "epoch", at: 18, bytes: 4, gives: "violation" },
  { name: "ctr", at: 22, bytes: 8, gives: "violation" },
  { name: "sid", at: 30, bytes: 32, gives: "violation" },
  { name: "from", at: 62, bytes: 1, gives: "violation" },
  { name: "to", at: 63, bytes: 1, gives: "violation" },
  { name: "seq", at: 64, bytes: 1, gives: "violation" },
];

describe.each([
  ["Freeze", MESSAGE.freeze, 0],
  ["Frozen", MESSAGE.frozen, 1],
] as const)("a %s with a flipped bit", (_, type, seq) => {
  for (const party of [0, 1] as const)
    for (const { at, ...field } of HEADER)
      it(`in ${field.name} to party ${party} is ${String(field.gives)}, and freezes nothing`, async () => {
        for (const position of POSITIONS) {
          const both = await made.up();
          await both.link.inject(party, notice(party, type, seq, at, field.bytes, position));
          await both.quiet();
          // An answer that fits no notice is dropped, of whatever epoch.
          const gives = type === MESSAGE.frozen && field.name === "epoch" ? "nothing" : String(field.gives);
          expect(found(both, party), position).toBe(gives);
          await expectMended(both, gives);
        }
      });
});

describe("a late Activate", () => {
  it("is answered, and one with a counter, an id or another tag is a violation", async () => {
    const both = await made.up();
    const [tag] = [...both.cosigner.host.rows.all()].map(({ activeName }) => activeName?.tag ?? Buffer.alloc(0));
    if (tag === undefined) throw new Error("no wallet");
    const header = { ...notice(1, MESSAGE.activate, 11, 2, 16, "last").header, length: 32 };
    const late: Message = {
      header: { ...header, walletId: Buffer.from(made.id.replaceAll("-", ""), "hex") },
      body: tag,
    };
    const activated = () => both.link.log.filter((line) => line === "1 activated").length;
    await both.link.inject(1, late);
    expect([activated(), both.eventsOf("violation")]).toEqual([1, []]);
    const wrong: readonly Message[] = [
      { ...late, header: { ...late.header, ctr: 1n } },
      { ...late, header: { ...late.header, sid: Buffer.alloc(32, 1) } },
      { ...late, body: flippedAt(tag, 0, 32, "middle") },
    ];
    for (const message of wrong) await both.link.inject(1, message);
    expect([activated(), both.eventsOf("violation").length]).toEqual([1, 3]);
  });
});

/** By its sender's program, so the header is flipped as it lies on the wire. */
function notice(to: Party, type: number, seq: number, at: number, bytes: number, position: Position): Message {
  const walletId = Buffer.from(made.id.replaceAll("-", ""), "hex");
  const epoch = Buffer.from([0, 0, 0, 1]);
  const names = [walletId, epoch, Buffer.alloc(8), Buffer.alloc(32), Buffer.from([otherParty(to), to, seq])];
  const wire = flippedAt(
    Buffer.concat([Buffer.from([PROTOCOL_VERSION, type]), ...names, Buffer.alloc(4)]),
    at,
    bytes,
    position,
  );
  const header = {
    ...{ version: PROTOCOL_VERSION, type, walletId: wire.subarray(2, 18), epoch: wire.readUInt32BE(18) },
    ...{ ctr: wire.readBigUInt64BE(22), sid: wire.subarray(30, 62), length: 0 },
    ...{ from: wire.readUInt8(62), to: wire.readUInt8(63), seq: wire.readUInt8(64) },
  };
  return { header, body: Buffer.alloc(0) };
}
