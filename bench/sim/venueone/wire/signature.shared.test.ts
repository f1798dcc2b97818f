/** The verifier against the whole public vector collection. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { hashTypedData } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { decodeExchange } from "./actions.js";
import { readJson } from "./json.js";
import { type PackValue, packMessage } from "./msgpack.js";
import { agentDigest, type Hex, hashAction, recoverSigner, requestDigest, userDigest } from "./signature.js";
import type { TypedField } from "./user-actions.js";

const FILE = join(dirname(fileURLToPath(import.meta.url)), "../../../../../shared/vectors/venueone-signing.json");

interface Vector {
  readonly id: string;
  readonly kind: "l1" | "user" | "hash" | "wire";
  readonly privateKey: Hex | null;
  readonly isMainnet: boolean | null;
  readonly nonce: number | null;
  readonly vaultAddress?: string | null;
  readonly expiresAfter?: number | null;
  readonly connectionId?: Hex;
  readonly primaryType?: string;
  readonly types?: readonly TypedField[];
  readonly domain?: Readonly<Record<string, unknown>>;
  readonly action: unknown;
  readonly expected: Readonly<Record<string, string | undefined>> & { readonly v?: number };
}

const vectors = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as readonly Vector[]) : [];
const named = (kind: Vector["kind"]) =>
  vectors.filter((vector) => vector.kind === kind).map((vector) => [vector.id, vector] as const);

function expectedSigner(vector: Vector): string | undefined {
  return vector.privateKey === null ? vector.expected.signer : privateKeyToAddress(vector.privateKey).toLowerCase();
}

function recover(vector: Vector, digest: Hex): string | null {
  const { r, s, v } = vector.expected;
  return recoverSigner(digest, { r: BigInt(r ?? 0), s: BigInt(s ?? 0), v: v ?? 0 });
}

/** Multi-signature payloads are no actions; one suite signs unstripped decimals, and a mixed-case destination as text. */
function isCanonical(vector: Vector): boolean {
  const text = JSON.stringify(vector.action);
  return !vector.id.startsWith("nk-multisig") && !/\d\.0"/.test(text) && !/"destination":"0x[0-9a-f]*[A-F]/.test(text);
}

describe.skipIf(!existsSync(FILE))("venueone signing vectors (needs ../shared)", () => {
  it.each(named("hash"))("hash %s", (_id, vector) => {
    const { actionHash, msgpack, eip712DigestMainnet, eip712DigestTestnet } = vector.expected;
    const action = vector.action as PackValue;
    // A vector without a nonce gives the packed bytes only.
    const hash = hashAction(action, vector.nonce ?? 0, vector.vaultAddress ?? null, vector.expiresAfter ?? null);
    if (actionHash !== undefined) expect(hash).toBe(actionHash);
    if (msgpack !== undefined) expect(`0x${Buffer.from(packMessage(action)).toString("hex")}`).toBe(msgpack);
    if (eip712DigestMainnet !== undefined) expect(agentDigest(hash, true)).toBe(eip712DigestMainnet);
    if (eip712DigestTestnet !== undefined) expect(agentDigest(hash, false)).toBe(eip712DigestTestnet);
    expect(actionHash ?? msgpack).toBeDefined();
  });

  it.each(named("l1"))("l1 %s", (_id, vector) => {
    const hash =
      vector.action === null
        ? (vector.connectionId ?? "0x")
        : hashAction(
            vector.action as PackValue,
            vector.nonce ?? 0,
            vector.vaultAddress ?? null,
            vector.expiresAfter ?? null,
          );
    if (vector.expected.actionHash !== undefined) expect(hash).toBe(vector.expected.actionHash);
    expect(recover(vector, agentDigest(hash, vector.isMainnet ?? true))).toBe(expectedSigner(vector));
  });

  it.each(named("user"))("user %s", (_id, vector) => {
    const fields = vector.types ?? [];
    const action = vector.action as Readonly<Record<string, string | number | boolean>>;
    const message = Object.fromEntries(
      [{ name: "hyperliquidChain", type: "string" } as TypedField, ...fields].map(
        (field): [string, string | boolean | bigint] => {
          const value = action[field.name] ?? "";
          return [
            field.name,
            field.type === "uint64" && typeof value !== "boolean" ? BigInt(value) : (value as string | boolean),
          ];
        },
      ),
    );
    const digest =
      vector.domain === undefined
        ? userDigest(
            vector.primaryType ?? "",
            fields.filter((field) => field.name !== "hyperliquidChain"),
            message,
            Number(action.signatureChainId),
          )
        : hashTypedData({
            domain: vector.domain,
            types: { [vector.primaryType ?? ""]: fields },
            primaryType: vector.primaryType ?? "",
            message: action,
          });
    expect(digest).toBe(vector.expected.eip712Digest);
    if (vector.expected.r !== undefined) expect(recover(vector, digest)).toBe(expectedSigner(vector));
  });

  it("the typed pipeline recovers the same signer for every action that it types and that is canonical", () => {
    let count = 0;
    for (const vector of vectors) {
      if (
        (vector.kind !== "l1" && vector.kind !== "user") ||
        vector.expected.r === undefined ||
        vector.domain !== undefined
      )
        continue;
      const body = {
        action: vector.action,
        nonce: vector.nonce,
        signature: { r: vector.expected.r, s: vector.expected.s, v: vector.expected.v },
        vaultAddress: vector.vaultAddress ?? null,
        expiresAfter: vector.expiresAfter ?? null,
      };
      const node = readJson(JSON.stringify(body))?.node;
      const request = node === undefined ? null : decodeExchange(node);
      if (request === null || !isCanonical(vector)) continue;
      expect
        .soft(recover(vector, requestDigest(request, vector.isMainnet ?? true)), vector.id)
        .toBe(expectedSigner(vector));
      count++;
    }
    expect(count).toBeGreaterThan(25);
  });
});
