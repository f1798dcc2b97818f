import { describe, expect, it } from "vitest";
import { hash } from "node:crypto";
import {
  checkFrame,
  checkSession,
  decodeHeader,
  encodeHeader,
  HEADER_BYTES,
  type Header,
  PROTOCOL_VERSION,
} from "./header.js";
import { ZERO_SID } from "../base/hash.js";
import { isLegalLength, MESSAGE_KINDS } from "./message-types.js";

const walletId = new Uint8Array(16).fill(7);

function headerOf(type: number, changes: Partial<Header> = {}): Header {
  const kind = MESSAGE_KINDS.find((each) => each.type === type);
  const from = kind?.from ?? 0;
  return {
    ...{
      version: PROTOCOL_VERSION,
      type,
      walletId: kind?.name === "hello" ? new Uint8Array(16) : walletId,
      epoch: 3,
      ctr: 9n,
      sid: ZERO_SID,
      from,
      to: 1 - from,
    },
    ...{ seq: kind?.seq ?? 0, length: kind?.bytesMin ?? 0, ...changes },
  };
}

describe("the version", () => {
  it("is raised with the layout of any message: these lengths are those of version 3", () => {
    const lengths = MESSAGE_KINDS.map(({ name, bytesMin, bytesMax }) => `${name} ${bytesMin} ${bytesMax}`).join();
    expect([PROTOCOL_VERSION, hash("sha256", lengths, "hex")]).toEqual([
      3,
      "e9266028755272fe89dfb0622194d8a0c4ea4ad38121c7a95de1d2e6406c823b",
    ]);
  });
});

describe("the header of a frame", () => {
  it("has 69 bytes and reads back as it was written", () => {
    const header = headerOf(0x33, { epoch: 0xfffffffe, ctr: 2n ** 64n - 1n, sid: new Uint8Array(32).fill(3) });
    const bytes = encodeHeader(header);
    expect(bytes.byteLength).toBe(HEADER_BYTES);
    expect(encodeHeader(decodeHeader(bytes))).toEqual(bytes);
    expect(decodeHeader(bytes)).toMatchObject({ epoch: 0xfffffffe, ctr: 2n ** 64n - 1n, type: 0x33, from: 1, to: 0 });
  });

  it("keeps nothing of the buffer that it was read from", () => {
    const bytes = encodeHeader(headerOf(0x30));
    const header = decodeHeader(bytes);
    bytes.fill(0xff);
    expect(Buffer.from(header.walletId)).toEqual(Buffer.from(walletId));
  });

  for (const kind of MESSAGE_KINDS) {
    it(`takes ${kind.name} from its sender at its legal lengths only`, () => {
      const self = kind.from === 0 ? 1 : 0;
      const from = 1 - self;
      const at = (length: number) => checkFrame(headerOf(kind.type, { from, to: self, length }), self);
      expect(at(kind.bytesMin)).toEqual({ kind });
      expect(at(kind.bytesMax)).toEqual({ kind });
      expect(at(kind.bytesMax + 1)).toEqual({ fault: "length", closes: true });
      if (kind.bytesMin > 0) expect(at(kind.bytesMin - 1)).toEqual({ fault: "length", closes: true });
      expect(at(0xffffffff)).toEqual({ fault: "length", closes: true });
      if (kind.from !== null)
        expect(checkFrame(headerOf(kind.type), kind.from)).toEqual({ fault: "type", closes: true });
    });
  }

  it("is checked in the order of the page", () => {
    const bad = { version: 1, length: 1, from: 0, to: 0, seq: 99 };
    expect(checkFrame(headerOf(0x44, bad), 0)).toMatchObject({ fault: "version" });
    expect(checkFrame(headerOf(0x44, { ...bad, version: 3 }), 0)).toMatchObject({ fault: "type" });
    expect(checkFrame(headerOf(0x33, { ...bad, version: 3 }), 0)).toMatchObject({ fault: "length" });
    const legal = { version: 3, length: 40_227 };
    expect(checkFrame(headerOf(0x33, { ...bad, ...legal }), 0)).toMatchObject({ fault: "from", closes: false });
    expect(checkFrame(headerOf(0x33, { ...bad, ...legal, from: 1, to: 1 }), 0)).toMatchObject({ fault: "to" });
    expect(checkFrame(headerOf(0x33, { ...bad, ...legal, from: 1 }), 0)).toMatchObject({ fault: "seq" });
  });

  it("names the wallet everywhere but in Hello", () => {
    expect(checkFrame(headerOf(0x01, { walletId, from: 1, to: 0 }), 0)).toMatchObject({ fault: "walletId" });
  });

  it("of another session is dropped where the network may have brought it late, else a violation", () => {
    const names = { walletId, epoch: 3, ctr: 9n };
    expect(checkSession(headerOf(0x33), names)).toBe("ok");
    expect(checkSession(headerOf(0x33, { walletId: new Uint8Array(16) }), names)).toBe("dropped");
    expect(checkSession(headerOf(0x33, { ctr: 8n }), names)).toBe("dropped");
    expect(checkSession(headerOf(0x33, { ctr: 10n }), names)).toBe("violation");
    expect(checkSession(headerOf(0x33, { epoch: 2 }), names)).toBe("violation");
    expect(checkSession(headerOf(0x33, { epoch: 4 }), names)).toBe("violation");
    expect(checkSession(headerOf(0x33, { epoch: 2, ctr: 8n }), names)).toBe("dropped");
    expect(checkSession(headerOf(0x33, { epoch: 4, ctr: 8n }), names)).toBe("dropped");
    expect(checkSession(headerOf(0x33, { epoch: 2, ctr: 10n }), names)).toBe("violation");
  });

  it("of a former epoch is dropped in a key generation and a refresh, which have no counter", () => {
    const names = { walletId, epoch: 3, ctr: 0n };
    expect(checkSession(headerOf(0x25, { ctr: 0n }), names)).toBe("ok");
    expect(checkSession(headerOf(0x33, { epoch: 2, ctr: 8n }), names)).toBe("dropped");
    expect(checkSession(headerOf(0x25, { epoch: 2, ctr: 0n }), names)).toBe("dropped");
    expect(checkSession(headerOf(0x33, { ctr: 8n }), names)).toBe("violation");
    expect(checkSession(headerOf(0x25, { epoch: 4, ctr: 0n }), names)).toBe("violation");
  });
});

describe("the table of messages", () => {
  it("names each type once and has one legal length for each but F1", () => {
    expect(new Set(MESSAGE_KINDS.map(({ type }) => type)).size).toBe(MESSAGE_KINDS.length);
    const several = MESSAGE_KINDS.filter(({ bytesMin, bytesMax }) => bytesMin !== bytesMax);
    expect(several.map(({ name }) => name)).toEqual(["f1"]);
  });

  it("bounds a frame at 69 + 131,168 bytes", () => {
    expect(Math.max(...MESSAGE_KINDS.map(({ bytesMax }) => bytesMax))).toBe(131_168);
    const f1 = MESSAGE_KINDS.find(({ name }) => name === "f1");
    expect(f1 !== undefined && isLegalLength(f1, 96)).toBe(false);
  });
});
