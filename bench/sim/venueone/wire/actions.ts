/**
 * Actions of `/exchange`: from a JSON node to a typed action, together with the canonical value the venue hashes
 * (`wire`: key order restored, decimals normalized, hex lower-cased), because the venue re-encodes what it typed. A
 * client that signed anything else therefore recovers as a stranger, exactly as live. Null means HTTP 422.
 */
import { wireText } from "./decimals.js";
import type { JsonNode } from "./json.js";
import type { PackMap } from "./msgpack.js";
import {
  type GroupingWord,
  type ModifyRequest,
  type OrderRequest,
  readAsset,
  readBuilder,
  readDecimal,
  readGrouping,
  readOrder,
  readOrderRef,
} from "./order-request.js";
import {
  decodeOrNull,
  mismatch,
  readAddress,
  readArray,
  readBool,
  readCloid,
  readInt,
  readStruct,
  readText,
  readUint,
  type Struct,
} from "./shape.js";
import { decodeUserAction, isUserActionType, USER_ACTION_TYPES, type UserAction } from "./user-actions.js";

interface L1Base {
  readonly family: "l1";
  readonly wire: PackMap;
}

export type L1Action = L1Base &
  (
    | {
        readonly type: "order";
        readonly orders: readonly OrderRequest[];
        readonly grouping: GroupingWord;
        readonly builder: { readonly address: string; readonly feeTenthsBps: number } | null;
      }
    | { readonly type: "cancel"; readonly cancels: readonly { readonly asset: number; readonly oid: number }[] }
    | {
        readonly type: "cancelByCloid";
        readonly cancels: readonly { readonly asset: number; readonly cloid: string }[];
      }
    | { readonly type: "modify"; readonly modify: ModifyRequest; readonly alwaysPlace: boolean }
    | { readonly type: "batchModify"; readonly modifies: readonly ModifyRequest[]; readonly alwaysPlace: boolean }
    | { readonly type: "scheduleCancel"; readonly time: number | null }
    | { readonly type: "updateLeverage"; readonly asset: number; readonly isCross: boolean; readonly leverage: number }
    | { readonly type: "updateIsolatedMargin"; readonly asset: number; readonly ntliE6: number }
    | { readonly type: "topUpIsolatedOnlyMargin"; readonly asset: number; readonly leverageE8: bigint }
    | { readonly type: "noop" }
    | { readonly type: "reserveRequestWeight"; readonly weight: number }
    | { readonly type: "setReferrer"; readonly code: string }
    | { readonly type: "createSubAccount"; readonly name: string }
    | {
        readonly type: "subAccountTransfer";
        readonly subAccountUser: string;
        readonly isDeposit: boolean;
        readonly usdE6: number;
      }
    | {
        readonly type: "agentSendAsset";
        readonly destination: string;
        readonly sourceDex: string;
        readonly destinationDex: string;
        readonly token: string;
        readonly amount: string;
        readonly fromSubAccount: string;
        readonly innerNonce: number;
      }
  );

export type Action = L1Action | UserAction;

export interface SignatureParts {
  readonly r: bigint;
  readonly s: bigint;
  readonly v: number;
}

export interface ExchangeRequest {
  readonly action: Action;
  readonly nonce: number;
  readonly signature: SignatureParts;
  readonly vaultAddress: string | null;
  readonly expiresAfter: number | null;
}

const ENVELOPE_KEYS = ["action", "nonce", "signature", "vaultAddress", "expiresAfter"];

/** Types the whole envelope. Returns null for the 422. */
export function decodeExchange(node: JsonNode): ExchangeRequest | null {
  return decodeOrNull(() => {
    const envelope = readStruct(node, ENVELOPE_KEYS, "refuse");
    const vault = envelope.optional("vaultAddress");
    const expiry = envelope.optional("expiresAfter");
    return {
      action: readAction(envelope.required("action")),
      nonce: readUint(envelope.required("nonce")),
      signature: readSignature(envelope.required("signature")),
      vaultAddress: vault === undefined ? null : readAddress(vault),
      expiresAfter: expiry === undefined ? null : readUint(expiry),
    };
  });
}

/** `r` and `s` may be stripped of leading zeros (odd length included) or padded. */
function readSignature(node: JsonNode): SignatureParts {
  const parts = readStruct(node, ["r", "s", "v"], "refuse");
  return {
    r: readScalar(parts.required("r")),
    s: readScalar(parts.required("s")),
    v: readUint(parts.required("v"), 255),
  };
}

function readScalar(node: JsonNode): bigint {
  const digits = /^0x([0-9a-fA-F]{1,64})$/.exec(readText(node))?.[1];
  return digits === undefined ? mismatch("hex scalar expected") : BigInt(`0x${digits}`);
}

function readAction(node: JsonNode): Action {
  if (node.kind !== "object") mismatch("action object expected");
  const tags = node.entries.filter(([key]) => key === "type");
  const tag = tags[0];
  if (tag === undefined || tags.length !== 1) mismatch("one action type expected");
  const type = readText(tag[1]);
  if (isUserActionType(type)) return decodeUserAction(type, node);
  const decoder = Object.hasOwn(L1_DECODERS, type) ? L1_DECODERS[type] : undefined;
  if (decoder === undefined) mismatch("unknown action type");
  return decoder.read(readStruct(node, ["type", ...decoder.keys], "refuse"));
}

interface L1Decoder {
  readonly keys: readonly string[];
  readonly read: (fields: Struct) => L1Action;
}

const L1_DECODERS: Readonly<Record<string, L1Decoder>> = {
  order: { keys: ["orders", "grouping", "builder"], read: readOrderAction },
  cancel: {
    keys: ["cancels", "f"],
    read: (fields) => {
      const cancels = readArray(fields.required("cancels"), (item) => {
        const cancel = readStruct(item, ["a", "o"], "ignore");
        return { asset: readAsset(cancel.required("a")), oid: readUint(cancel.required("o")) };
      });
      const packed = cancels.map((cancel): PackMap => ({ a: cancel.asset, o: cancel.oid }));
      const wire = { type: "cancel", cancels: packed, ...readOnlyTrue(fields, "f") };
      return { family: "l1", type: "cancel", cancels, wire };
    },
  },
  cancelByCloid: {
    keys: ["cancels", "f"],
    read: (fields) => {
      const cancels = readArray(fields.required("cancels"), (item) => {
        const cancel = readStruct(item, ["asset", "cloid"], "ignore");
        return { asset: readAsset(cancel.required("asset")), cloid: readCloid(cancel.required("cloid")) };
      });
      const wire = { type: "cancelByCloid", cancels, ...readOnlyTrue(fields, "f") };
      return { family: "l1", type: "cancelByCloid", cancels, wire };
    },
  },
  modify: {
    keys: ["oid", "order", "a"],
    read: (fields) => {
      const modify = { ref: readOrderRef(fields.required("oid")), order: readOrder(fields.required("order")) };
      const always = readOnlyTrue(fields, "a");
      const wire = { type: "modify", oid: modify.ref, order: modify.order.wire, ...always };
      return { family: "l1", type: "modify", modify, alwaysPlace: always.a === true, wire };
    },
  },
  batchModify: {
    keys: ["modifies", "a"],
    read: (fields) => {
      const modifies = readArray(fields.required("modifies"), (item) => {
        const modify = readStruct(item, ["oid", "order"], "ignore");
        return { ref: readOrderRef(modify.required("oid")), order: readOrder(modify.required("order")) };
      });
      const always = readOnlyTrue(fields, "a");
      const packed = modifies.map((modify): PackMap => ({ oid: modify.ref, order: modify.order.wire }));
      const wire = { type: "batchModify", modifies: packed, ...always };
      return { family: "l1", type: "batchModify", modifies, alwaysPlace: always.a === true, wire };
    },
  },
  scheduleCancel: {
    keys: ["time"],
    read: (fields) => {
      const node = fields.optional("time");
      const time = node === undefined ? null : readUint(node);
      const wire = { type: "scheduleCancel", ...(time === null ? {} : { time }) };
      return { family: "l1", type: "scheduleCancel", time, wire };
    },
  },
  updateLeverage: {
    keys: ["asset", "isCross", "leverage"],
    read: (fields) => {
      const asset = readAsset(fields.required("asset"));
      const isCross = readBool(fields.required("isCross"));
      const leverage = readUint(fields.required("leverage"), 0xffff_ffff);
      const wire = { type: "updateLeverage", asset, isCross, leverage };
      return { family: "l1", type: "updateLeverage", asset, isCross, leverage, wire };
    },
  },
  updateIsolatedMargin: {
    keys: ["asset", "isBuy", "ntli"],
    read: (fields) => {
      const asset = readAsset(fields.required("asset"));
      const isBuy = readBool(fields.required("isBuy"));
      const ntliE6 = readInt(fields.required("ntli"));
      const wire = { type: "updateIsolatedMargin", asset, isBuy, ntli: ntliE6 };
      return { family: "l1", type: "updateIsolatedMargin", asset, ntliE6, wire };
    },
  },
  topUpIsolatedOnlyMargin: {
    keys: ["asset", "leverage"],
    read: (fields) => {
      const asset = readAsset(fields.required("asset"));
      const leverageE8 = readDecimal(fields.required("leverage"));
      const wire = { type: "topUpIsolatedOnlyMargin", asset, leverage: wireText(leverageE8) };
      return { family: "l1", type: "topUpIsolatedOnlyMargin", asset, leverageE8, wire };
    },
  },
  noop: { keys: [], read: () => ({ family: "l1", type: "noop", wire: { type: "noop" } }) },
  reserveRequestWeight: {
    keys: ["weight"],
    read: (fields) => {
      const weight = readUint(fields.required("weight"));
      return { family: "l1", type: "reserveRequestWeight", weight, wire: { type: "reserveRequestWeight", weight } };
    },
  },
  setReferrer: {
    keys: ["code"],
    read: (fields) => {
      const code = readText(fields.required("code"));
      return { family: "l1", type: "setReferrer", code, wire: { type: "setReferrer", code } };
    },
  },
  createSubAccount: {
    keys: ["name"],
    read: (fields) => {
      const name = readText(fields.required("name"));
      return { family: "l1", type: "createSubAccount", name, wire: { type: "createSubAccount", name } };
    },
  },
  subAccountTransfer: {
    keys: ["subAccountUser", "isDeposit", "usd"],
    read: (fields) => {
      const subAccountUser = readAddress(fields.required("subAccountUser"));
      const isDeposit = readBool(fields.required("isDeposit"));
      const usdE6 = readUint(fields.required("usd"));
      const wire = { type: "subAccountTransfer", subAccountUser, isDeposit, usd: usdE6 };
      return { family: "l1", type: "subAccountTransfer", subAccountUser, isDeposit, usdE6, wire };
    },
  },
  agentSendAsset: {
    keys: ["destination", "sourceDex", "destinationDex", "token", "amount", "fromSubAccount", "nonce"],
    read: (fields) => {
      const send = {
        destination: readAddress(fields.required("destination")),
        sourceDex: readText(fields.required("sourceDex")),
        destinationDex: readText(fields.required("destinationDex")),
        token: readText(fields.required("token")),
        amount: readText(fields.required("amount")),
        fromSubAccount: readText(fields.required("fromSubAccount")),
      };
      const innerNonce = readUint(fields.required("nonce"));
      const wire = { type: "agentSendAsset", ...send, nonce: innerNonce };
      return { family: "l1", type: "agentSendAsset", ...send, innerNonce, wire };
    },
  },
};

/** @testonly What README.md lists. */
export const ACTION_TYPES: readonly string[] = [...Object.keys(L1_DECODERS), ...USER_ACTION_TYPES];

function readOrderAction(fields: Struct): L1Action {
  const orders = readArray(fields.required("orders"), readOrder);
  const { grouping, wire: groupingWire } = readGrouping(fields.required("grouping"));
  const builderNode = fields.optional("builder");
  const builder = builderNode === undefined ? null : readBuilder(builderNode);
  const wire: PackMap = {
    type: "order",
    orders: orders.map((order) => order.wire),
    grouping: groupingWire,
    ...(builder === null ? {} : { builder: { b: builder.address, f: builder.feeTenthsBps } }),
  };
  return { family: "l1", type: "order", orders, grouping, builder, wire };
}

/** A flag that is hashed only when true; a posted `false` drops out of the hash. */
function readOnlyTrue(fields: Struct, key: string): Record<string, boolean> {
  const node = fields.optional(key);
  return node !== undefined && readBool(node) ? { [key]: true } : {};
}
