import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { otherParty, type Party } from "../../engine/custody/mpc/base/parameters.js";
import { encodeHeader, HEADER_BYTES, headerOf, type Message } from "../../engine/custody/mpc/wire/header.js";
import { F1_FIXED_BYTES, INTENT_BYTES_MAX } from "../../engine/custody/mpc/wire/message-types.js";
import { FrameReader, type FrameReading } from "./frame-reader.js";
import { bytesOf, frameOf, kindsFor, WALLET } from "./test/link-doubles.js";

const BODY_BYTES_MAX = F1_FIXED_BYTES + INTENT_BYTES_MAX;

/** Reads all of `bytes`, cut at `cuts`, and stops at a fault. */
function readAll(self: Party, bytes: Uint8Array, cuts: readonly number[]) {
  const reader = new FrameReader(self);
  const readings: FrameReading[] = [];
  let heldMax = 0;
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.byteLength + 1)))].sort((left, right) => left - right);
  let start = 0;
  for (const end of [...ends, bytes.byteLength]) {
    const source = { chunk: bytes.subarray(start, end), at: 0 };
    start = end;
    for (;;) {
      const reading = reader.read(source);
      heldMax = Math.max(heldMax, reader.heldBytes);
      if (reading.kind === "more") break;
      readings.push(reading);
      if (reading.kind === "fault") return { readings, heldMax, reader };
    }
  }
  return { readings, heldMax, reader };
}

const messages = (readings: readonly FrameReading[]) =>
  readings.map((reading) => (reading.kind === "message" ? bytesOf(reading.message).toString("hex") : reading.kind));

/** Frames that `self` may receive. */
function frames(self: Party): fc.Arbitrary<Message> {
  return fc
    .record({
      kind: fc.constantFrom(...kindsFor(self)),
      walletId: fc.uint8Array({ minLength: 16, maxLength: 16 }),
      epoch: fc.integer({ min: 0, max: 0xffff_ffff }),
      ctr: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      sid: fc.uint8Array({ minLength: 32, maxLength: 32 }),
      extra: fc.nat(2_000),
      fill: fc.nat(255),
    })
    .map(({ kind, walletId, epoch, ctr, sid, extra, fill }) => {
      const length = Math.min(kind.bytesMin + extra, kind.bytesMax);
      const names = { walletId: kind.name === "hello" ? new Uint8Array(16) : walletId, epoch, ctr };
      return { header: headerOf(kind, otherParty(self), names, sid, length), body: Buffer.alloc(length, fill) };
    });
}

const parties = fc.constantFrom<Party>(0, 1);
const cuts = fc.array(fc.nat(400_000), { maxLength: 40 });

describe("FrameReader", () => {
  it("gives the same frames, in order, however the bytes are cut", () => {
    const cases = parties.chain((self) =>
      fc.record({ self: fc.constant(self), list: fc.array(frames(self), { maxLength: 6 }), cuts }),
    );
    fc.assert(
      fc.property(cases, ({ self, list, cuts }) => {
        const sent = list.map(bytesOf);
        const { readings, reader } = readAll(self, Buffer.concat(sent), cuts);
        expect(messages(readings)).toEqual(sent.map((bytes) => bytes.toString("hex")));
        expect(reader.heldBytes).toBe(0);
      }),
    );
  });

  it("finds the same fault behind the same frames, however the bytes are cut", () => {
    const cases = parties.chain((self) =>
      fc.record({ self: fc.constant(self), list: fc.array(frames(self), { maxLength: 3 }), last: frames(self), cuts }),
    );
    fc.assert(
      fc.property(cases, ({ self, list, last, cuts }) => {
        const wrong = bytesOf({ ...last, header: { ...last.header, from: self } });
        const { readings } = readAll(self, Buffer.concat([...list.map(bytesOf), wrong, wrong]), cuts);
        expect(readings).toHaveLength(list.length + 1);
        expect(readings.at(-1)).toMatchObject({ kind: "fault", fault: "from" });
      }),
    );
  });

  it("takes a frame byte by byte", () => {
    const bytes = bytesOf(frameOf("f2", 1, { fill: 9 }));
    const each = Array.from({ length: bytes.byteLength }, (_, index) => index);
    expect(messages(readAll(0, bytes, each).readings)).toEqual([bytes.toString("hex")]);
  });

  it("takes the largest frame, and holds never more than it", () => {
    const bytes = bytesOf(frameOf("f1", 0, { length: BODY_BYTES_MAX, fill: 3 }));
    const two = Buffer.concat([bytes, bytes]);
    const steps = Array.from({ length: 100 }, (_, index) => index * 2_700);
    const { readings, heldMax } = readAll(1, two, steps);
    expect(readings.map(({ kind }) => kind)).toEqual(["message", "message"]);
    expect(heldMax).toBe(HEADER_BYTES + BODY_BYTES_MAX);
    expect(HEADER_BYTES + BODY_BYTES_MAX).toBe(69 + 131_168);
  });

  it("gives each body its own memory, not that of the chunk", () => {
    const bytes = bytesOf(frameOf("abort", 0, { fill: 5 }));
    const source = { chunk: bytes, at: 0 };
    const reading = new FrameReader(1).read(source);
    bytes.fill(0xff);
    expect(reading).toMatchObject({ kind: "message", message: { body: Buffer.alloc(4, 5) } });
    expect(reading.kind === "message" && reading.message.body.buffer.byteLength).toBe(4);
    expect(source.at).toBe(73);
  });

  it("leaves what lies behind a frame in the chunk", () => {
    const freeze = bytesOf(frameOf("freeze", 0));
    const source = { chunk: Buffer.concat([freeze, freeze, freeze.subarray(0, 10)]), at: 0 };
    const reader = new FrameReader(1);
    expect(reader.read(source).kind).toBe("message");
    expect(source.at).toBe(69);
    expect(reader.heldBytes).toBe(0);
    expect(reader.read(source).kind).toBe("message");
    expect(reader.read(source).kind).toBe("more");
    expect(reader.heldBytes).toBe(10);
  });

  it("refuses every illegal length of every kind with the header alone, before any of the body has come", () => {
    for (const self of [0, 1] as const) {
      for (const kind of kindsFor(self)) {
        const legal = frameOf(kind.name, otherParty(self)).header;
        const lengths = [kind.bytesMin - 1, kind.bytesMax + 1, 0, BODY_BYTES_MAX, BODY_BYTES_MAX + 1, 0xffff_ffff];
        for (const length of lengths.filter((each) => each >= 0 && (each < kind.bytesMin || each > kind.bytesMax))) {
          const reader = new FrameReader(self);
          const reading = reader.read({ chunk: encodeHeader({ ...legal, length }), at: 0 });
          expect(reading, `${kind.name} ${length}`).toMatchObject({ kind: "fault", fault: "length" });
          expect(reader.heldBytes).toBe(HEADER_BYTES);
        }
      }
    }
  });

  it("judges in the order of the page: the first thing that is wrong is what it names", () => {
    const order = ["version", "type", "length", "from", "to", "seq"] as const;
    const wrong = { version: 1, type: 0x55, length: 9, from: 1, to: 0, seq: 200 };
    const legal = frameOf("freeze", 0).header;
    for (const [index, fault] of order.entries()) {
      const header = { ...legal };
      for (const name of order.slice(index)) Object.assign(header, { [name]: wrong[name] });
      expect(new FrameReader(1).read({ chunk: encodeHeader(header), at: 0 })).toMatchObject({ kind: "fault", fault });
    }
    const hello = { ...frameOf("hello", 0).header, walletId: WALLET };
    expect(new FrameReader(1).read({ chunk: encodeHeader(hello), at: 0 })).toEqual({
      ...{ kind: "fault", fault: "walletId", walletId: WALLET },
    });
  });

  it("names the wallet of a bad header, but none of another version or of zeros", () => {
    const { header } = frameOf("freeze", 0);
    const read = (changed: Partial<typeof header>) =>
      new FrameReader(1).read({ chunk: encodeHeader({ ...header, ...changed }), at: 0 });
    expect(read({ seq: 9 })).toMatchObject({ walletId: WALLET });
    expect(read({ version: 1 })).toMatchObject({ walletId: null });
    expect(read({ seq: 9, walletId: new Uint8Array(16) })).toMatchObject({ walletId: null });
  });

  it("reads nothing behind a fault", () => {
    const { reader } = readAll(1, encodeHeader({ ...frameOf("freeze", 0).header, type: 0 }), []);
    expect(() => reader.read({ chunk: bytesOf(frameOf("freeze", 0)), at: 0 })).toThrow(RangeError);
  });
});
