/** What is said of a transaction, of what each endpoint shows. Three confirmations; two must agree unless it is said. */
import { describe, expect, it } from "vitest";
import type { EndpointView } from "./receipts.js";
import { standingOf } from "./standing.js";
import { failedRead } from "../net/call-results.js";

const RULE = { confirmations: 3, agreement: 2 };
const RECEIPT = {
  ...{ hash: "0x1", blockNumber: 98, blockHash: "0xb", succeeded: true, gasCost: 5n },
  logs: [{ address: "0xa", topics: ["0xt"], data: Uint8Array.of(1) }],
};
const mined = (confirmations: number, receipt: Partial<typeof RECEIPT> = {}): EndpointView => ({
  ...{ kind: "mined", receipt: { ...RECEIPT, ...receipt }, confirmations },
});
const unmined = (isNonceUsed = false, isKnown = false): EndpointView => ({ kind: "unmined", isNonceUsed, isKnown });
const UNSETTLED: EndpointView = { kind: "unsettled" };
const SILENT: EndpointView = { kind: "silent", failure: failedRead("TIMEOUT", "") };

describe("a transaction in a block", () => {
  it("is final at the depth of as many as must agree, and shows that depth", () => {
    expect(standingOf([mined(9), mined(3)], RULE)).toMatchObject({ kind: "mined", isFinal: true, confirmations: 3 });
    expect(standingOf([mined(9), mined(4), mined(1)], RULE)).toMatchObject({ isFinal: true, confirmations: 4 });
    expect(standingOf([mined(3)], { confirmations: 3, agreement: 1 })).toMatchObject({ isFinal: true });
    expect(standingOf([mined(9), mined(9), mined(2)], { ...RULE, agreement: 3 })).toMatchObject({ isFinal: false });
  });

  it.each<[string, readonly EndpointView[]]>([
    ["only one shows it", [mined(9)]],
    ["one shows it and the others are silent", [mined(9), SILENT, SILENT]],
    ["the second is one block short", [mined(9), mined(2)]],
    ["they show other blocks", [mined(9), mined(9, { blockHash: "0xc" })]],
    ["they show other heights", [mined(9), mined(9, { blockNumber: 97 })]],
    ["they show other hashes of ours", [mined(9), mined(9, { hash: "0x2" })]],
    ["one says that it failed", [mined(9), mined(9, { succeeded: false })]],
    ["they show other costs", [mined(9), mined(9, { gasCost: 6n })]],
    ["they show other logs", [mined(9), mined(9, { logs: [] })]],
    ["the second has it in no block", [mined(9), unmined()]],
    ["the second contradicts itself", [mined(9), UNSETTLED]],
    ["two blocks are shown by as many each", [mined(9), mined(9), ...[1, 2].map(() => mined(9, { blockHash: "0xc" }))]],
  ])("is not final, nor shown as deep as that, where %s", (_name, views) => {
    const standing = standingOf(views, RULE);
    expect(standing).toMatchObject({ kind: "mined", isFinal: false });
    expect(standing?.kind === "mined" && standing.confirmations).toBeLessThan(3);
  });

  it("is final though one more lies, lags or is silent, wherever it stands", () => {
    for (const other of [mined(99, { blockHash: "0xc" }), unmined(true), unmined(false, true), UNSETTLED, SILENT]) {
      for (const views of [
        [other, mined(3), mined(3)],
        [mined(3), other, mined(3)],
        [mined(3), mined(3), other],
      ])
        expect(standingOf(views, RULE)).toMatchObject({ isFinal: true, blockHash: "0xb" });
    }
  });

  it("is shown as most of them show it", () => {
    const other = mined(99, { blockHash: "0xc" });
    expect(standingOf([other, mined(1), mined(2)], RULE)).toMatchObject({ blockHash: "0xb", confirmations: 1 });
  });
});

describe("a transaction in no block", () => {
  it("is open, and known where one has it in its pool", () => {
    expect(standingOf([unmined(), unmined()], RULE)).toEqual({ kind: "open", isKnown: false });
    expect(standingOf([unmined(), unmined(false, true)], RULE)).toEqual({ kind: "open", isKnown: true });
    expect(standingOf([UNSETTLED, SILENT], RULE)).toEqual({ kind: "open", isKnown: true });
  });

  it("is replaced where as many as must agree have its nonce used as deep as makes final", () => {
    expect(standingOf([unmined(true), unmined(true)], RULE)).toEqual({ kind: "replaced" });
    expect(standingOf([unmined(true), unmined(true), unmined()], RULE)).toEqual({ kind: "replaced" });
    expect(standingOf([unmined(true)], { ...RULE, agreement: 1 })).toEqual({ kind: "replaced" });
  });

  it.each<[string, readonly EndpointView[]]>([
    ["only one has its nonce used", [unmined(true), unmined(), SILENT]],
    ["one shows a receipt", [unmined(true), unmined(true), mined(1)]],
    ["one contradicts itself", [unmined(true), unmined(true), UNSETTLED]],
  ])("is not replaced where %s", (_name, views) => {
    expect(standingOf(views, RULE)?.kind).not.toBe("replaced");
  });

  it("is nothing where nobody answers", () => {
    expect(standingOf([SILENT, SILENT], RULE)).toBeNull();
    expect(standingOf([], RULE)).toBeNull();
  });
});
