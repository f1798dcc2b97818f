import { describe, expect, it } from "vitest";
import { ProtocolError } from "../base/outcome.js";
import {
  decodeAbort,
  decodeCount,
  decodeHello,
  decodeState,
  encodeAbort,
  encodeCount,
  encodeHello,
  encodeState,
} from "./link-bodies.js";

const tag = (fill: number) => new Uint8Array(32).fill(fill);

describe("bodies outside sessions", () => {
  it("read back as they were written", () => {
    const view = {
      ...({ status: "frozen", stage: "tested", ctr: 77n } as const),
      ...{ active: { epoch: 4, tag: tag(4) }, prepared: { epoch: 5, tag: tag(5) } },
    };
    expect(encodeState(decodeState(encodeState(view), 1))).toEqual(encodeState(view));
    const hello = {
      ...{ suite: tag(1), party: 1, kekId: tag(2).subarray(24), backupKeyId: tag(3) },
      ...{ bootId: tag(4).subarray(16), inventory: tag(5) },
    };
    expect(encodeHello(decodeHello(encodeHello(hello)))).toEqual(encodeHello(hello));
    const abort = { class: "refused", code: "POLICY", detail: 517 } as const;
    expect(decodeAbort(encodeAbort(abort))).toEqual(abort);
    const counted = { id: tag(6).subarray(16), count: 2n ** 53n };
    expect(encodeCount(decodeCount(encodeCount(counted)))).toEqual(encodeCount(counted));
  });

  it("of a state that no row can have are malformed", () => {
    const none = encodeState({ status: "none", stage: "none", active: null, prepared: null, ctr: 0n });
    const change = (at: number, value: number) => {
      const bytes = Buffer.from(none);
      bytes.writeUInt8(value, at);
      return bytes;
    };
    expect(decodeState(none, 0).status).toBe("none");
    for (const [at, value] of [
      [0, 1],
      [0, 2],
      [0, 6],
      [1, 1],
      [1, 3],
      [5, 1],
      [9, 1],
      [10, 1],
      [42, 1],
      [81, 1],
    ] as const)
      expect(() => decodeState(change(at, value), 0), `byte ${at}`).toThrow(ProtocolError);
    const tested = encodeState({
      status: "new",
      stage: "tested",
      active: null,
      prepared: { epoch: 1, tag: tag(1) },
      ctr: 1n,
    });
    expect(decodeState(tested, 1).stage).toBe("tested");
    expect(() => decodeState(tested, 0)).toThrow(ProtocolError);
    const gap = encodeState({
      status: "active",
      stage: "prepared",
      active: { epoch: 2, tag: tag(2) },
      prepared: { epoch: 4, tag: tag(4) },
      ctr: 1n,
    });
    expect(() => decodeState(gap, 1)).toThrow(ProtocolError);
  });

  it("of an abort carry a code and a detail only where the page has them", () => {
    for (const bytes of [
      [0, 0, 0, 0],
      [5, 0, 0, 0],
      [1, 1, 0, 0],
      [3, 0, 0, 1],
      [2, 0, 0, 0],
      [2, 10, 0, 0],
      [2, 8, 0, 1],
    ])
      expect(() => decodeAbort(Uint8Array.from(bytes))).toThrow(ProtocolError);
    expect(decodeAbort(Uint8Array.of(2, 7, 1, 2))).toEqual({ class: "refused", code: "POLICY", detail: 258 });
    expect(() => decodeAbort(Uint8Array.of(1, 0, 0))).toThrow(ProtocolError);
    expect(() => decodeAbort(Uint8Array.of(1, 0, 0, 0, 0))).toThrow(ProtocolError);
  });
});
