/** Seeded requests of each kind, and what viem makes of a signature over them. */
import {
  encodeFunctionData,
  type Hex,
  parseAbi,
  recoverAddress,
  recoverMessageAddress,
  recoverTransactionAddress,
  recoverTypedDataAddress,
  serializeTransaction,
  type TransactionSerializable,
} from "viem";
import { seededBytes } from "../../mpc/test/seeded-random.js";
import { toHex } from "../../digest/bytes.js";
import type { SigningRequest, UnsignedTransaction } from "../wallet-provider.js";

export interface SigningCase {
  readonly request: SigningRequest;
  /** Address, in any case, that viem finds. `recoveryId`: 0 or 1. */
  recovered(rs: Uint8Array, recoveryId: number): Promise<string>;
}

export const KINDS = ["digest", "message", "typedData", "transaction"] as const;
export type CaseKind = (typeof KINDS)[number];

const CHAIN = 42_161;
export const FRIEND = `0x${"4".repeat(40)}` as const;
export const TOKEN = `0x${"1".repeat(40)}` as const;
const ANY = String((1n << 256n) - 1n);
const FORUM = { name: "Forum", version: "1", chainId: CHAIN, verifyingContract: TOKEN } as const;

/** Everything that the cases ask for, to callers. */
export const RULES = {
  messages: ["text", "binary", "digest"],
  digests: true,
  chains: [{ chainId: CHAIN, perDay: ANY }],
  native: [{ chainId: CHAIN, destinations: [FRIEND], perDay: ANY }],
  tokens: [{ chainId: CHAIN, token: TOKEN, methods: ["transfer", "approve"], destinations: [FRIEND], perDay: ANY }],
  typedData: [{ domain: FORUM, primaryType: "Post" }],
};

export function signingCase(kind: CaseKind, seed: string, index: number): SigningCase {
  const draw = new Draws(`${seed}/${kind}/${index}`);
  switch (kind) {
    case "digest":
      return digestCase(EDGES[index] ?? draw.bytes(32));
    case "message":
      return messageCase(draw.bytes(index === 0 ? 0 : index === 1 ? 65_536 : draw.below(400)));
    case "typedData":
      return typedDataCase(draw);
    case "transaction":
      return transactionCase(draw, index);
  }
}

/** The order of the group. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const word = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
/** All zeros and ones, leading zeros, and around the order and its half. */
const EDGES: readonly Buffer[] = [
  Buffer.alloc(32),
  Buffer.alloc(32, 0xff),
  word(1n),
  word(0xffn << 120n),
  Buffer.concat([Buffer.alloc(16), seededBytes("edges", "leading zeros", 16)]),
  word(ORDER - 1n),
  word(ORDER),
  word(ORDER + 1n),
  word(ORDER >> 1n),
  word((ORDER >> 1n) + 1n),
  word((1n << 256n) - 2n),
];

class Draws {
  readonly #seed: string;
  #count = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  bytes(length: number): Buffer {
    return seededBytes(this.#seed, String(this.#count++), length);
  }

  integer(bytes: number): bigint {
    return BigInt(`0x${this.bytes(bytes).toString("hex")}`);
  }

  below(bound: number): number {
    return Number(this.integer(6) % BigInt(bound));
  }
}

function hexSignature(rs: Uint8Array, recoveryId: number): Hex {
  return `0x${Buffer.from(rs).toString("hex")}${recoveryId === 0 ? "1b" : "1c"}`;
}

function digestCase(digest: Uint8Array): SigningCase {
  const hash = toHex(digest) as Hex;
  return {
    request: { kind: "digest", digest },
    recovered: (rs, recoveryId) => recoverAddress({ hash, signature: hexSignature(rs, recoveryId) }),
  };
}

function messageCase(bytes: Uint8Array): SigningCase {
  return {
    request: { kind: "message", bytes },
    recovered: (rs, recoveryId) =>
      recoverMessageAddress({ message: { raw: bytes }, signature: hexSignature(rs, recoveryId) }),
  };
}

function typedDataCase(draw: Draws): SigningCase {
  const attachments = Array.from({ length: draw.below(4) }, () => ({
    hash: toHex(draw.bytes(32)),
    size: String(draw.integer(8)),
  }));
  const typed = {
    types: {
      Attachment: [
        { name: "hash", type: "bytes32" },
        { name: "size", type: "uint64" },
      ],
      Post: [
        { name: "text", type: "string" },
        { name: "author", type: "address" },
        { name: "likes", type: "int128" },
        { name: "isPublic", type: "bool" },
        { name: "body", type: "bytes" },
        { name: "attachments", type: "Attachment[]" },
        { name: "scores", type: "uint8[3]" },
      ],
    },
    primaryType: "Post",
    domain: FORUM,
    message: {
      text: `é ${draw.bytes(draw.below(40)).toString("base64")}`,
      author: toHex(draw.bytes(20)),
      likes: String(BigInt.asIntN(128, draw.integer(16))),
      isPublic: draw.below(2) === 1,
      body: toHex(draw.bytes(draw.below(70))),
      attachments,
      scores: [draw.below(256), draw.below(256), draw.below(256)],
    },
  } as const;
  return {
    request: { kind: "typedData", text: JSON.stringify(typed) },
    recovered: (rs, recoveryId) =>
      recoverTypedDataAddress({ ...(typed as unknown as ForViem), signature: hexSignature(rs, recoveryId) }),
  };
}

type ForViem = Omit<Parameters<typeof recoverTypedDataAddress>[0], "signature">;

const TOKEN_ABI = parseAbi(["function transfer(address,uint256)", "function approve(address,uint256)"]);

/** Of both types: native money, and two methods of a token. Amounts stay below what a day's sum can hold. */
function transactionCase(draw: Draws, index: number): SigningCase {
  const amount = draw.integer(draw.below(24) + 1);
  const functionName = draw.below(2) === 0 ? ("transfer" as const) : ("approve" as const);
  const isNative = index % 3 === 0;
  const data = isNative ? "0x" : encodeFunctionData({ abi: TOKEN_ABI, functionName, args: [FRIEND, amount] });
  const to = isNative ? FRIEND : TOKEN;
  const common = {
    chainId: CHAIN,
    nonce: draw.below(2 ** 40),
    gas: draw.integer(6),
    value: isNative ? amount : 0n,
    to,
  };
  const price = draw.integer(draw.below(10) + 1);
  const forViem: TransactionSerializable =
    index % 2 === 0
      ? { type: "legacy", ...common, data, gasPrice: price }
      : { type: "eip1559", ...common, data, maxFeePerGas: price, maxPriorityFeePerGas: price / 2n };
  const own = {
    ...{ chainId: BigInt(CHAIN), nonce: BigInt(common.nonce), gasLimit: common.gas, to, value: common.value },
    data: Buffer.from(data.slice(2), "hex"),
  };
  const transaction: UnsignedTransaction =
    index % 2 === 0
      ? { type: "legacy", ...own, gasPrice: price }
      : { type: "eip1559", ...own, maxFeePerGas: price, maxPriorityFeePerGas: price / 2n };
  return {
    request: { kind: "transaction", transaction },
    recovered(rs, recoveryId) {
      const [r, s] = [rs.subarray(0, 32), rs.subarray(32)].map((half) => toHex(half) as Hex);
      if (r === undefined || s === undefined) throw new Error("no signature");
      const signature = { r, s, v: 27n + BigInt(recoveryId), yParity: recoveryId };
      const serializedTransaction = serializeTransaction(forViem, signature) as Parameters<
        typeof recoverTransactionAddress
      >[0]["serializedTransaction"];
      return recoverTransactionAddress({ serializedTransaction });
    },
  };
}
