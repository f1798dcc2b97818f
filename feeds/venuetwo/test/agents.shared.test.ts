/** What wallets sign for agents and keys, by all vectors of it. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { typedDataDigest } from "../../../engine/custody/digest/typed-data-hash.js";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import { toHex } from "../../shared/sign/eip712.js";
import { typedDataText } from "../../shared/sign/typed-text.js";
import { messageDomain } from "../sign/sign.js";
import {
  managementFields,
  managementMessage,
  type ManagementParams,
  MESSAGE_FIELDS,
  signInMessage,
} from "../sign/sign-wallet.js";

interface WalletVector {
  readonly id: string;
  readonly kind: string;
  readonly input: {
    readonly primaryType: string;
    readonly params: ManagementParams;
    readonly message: Readonly<Record<string, string>> & string;
    readonly nonce: string;
  };
  readonly expected: { readonly digest: string };
}

const path = join(dirname(fileURLToPath(import.meta.url)), "../../../../shared/vectors/venuetwo-signing.json");
const vectors = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as readonly WalletVector[]) : [];
const of = (kind: string) =>
  vectors.filter((vector) => vector.kind === kind).map((vector) => [vector.id, vector] as const);

function digestOf(text: string): string {
  const read = readTypedData(new TextEncoder().encode(text));
  if (!read.ok) throw new Error(read.problem);
  return toHex(typedDataDigest(read.typed));
}

describe.skipIf(vectors.length === 0)("the texts of agents and keys (needs ../shared)", () => {
  it.each(of("v3-eip712-management"))("have the digest of %s", (_id, { expected, input: { params, primaryType } }) => {
    const message = managementMessage(params);
    const text = typedDataText(messageDomain(56), primaryType, managementFields(params), message);
    expect(digestOf(text)).toBe(expected.digest);
  });

  it.each(of("v3-eip712-register-agent"))("have the digest of %s", (_id, { expected, input: { message } }) => {
    const text = typedDataText(messageDomain(56), "Message", MESSAGE_FIELDS, { msg: message["msg"] ?? "" });
    expect(digestOf(text)).toBe(expected.digest);
  });

  it.each(of("personal-sign-api-key"))("are those of %s", (_id, { input: { message, nonce } }) => {
    expect(signInMessage(nonce)).toBe(message);
  });
});
