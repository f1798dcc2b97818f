/**
 * What a caller of `POST /api/wallets/{walletIdOrAddress}/sign` wants signed. Bytes are taken exactly as they were sent:
 * what would be signed as something else is refused.
 */
import type { Static } from "@sinclair/typebox";
import type { SigningRequest } from "../../engine/custody/provider/wallet-provider.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { SIGNED_BYTES_MAX, type walletSignRequestSchema } from "../../schemas/wallets.js";
import { memberText } from "../http/json-member.js";
import { invalidParameters } from "../http/query.js";

type SignBody = Static<typeof walletSignRequestSchema>;
/** What a caller may choose; transactions are the service's own. */
export type CallerRequest = Exclude<SigningRequest, { readonly kind: "transaction" }>;
type Field = "message" | "messageHex" | "typedData" | "digest";

const FIELDS: readonly Field[] = ["message", "messageHex", "typedData", "digest"];
/** UTF-8 has no form for half of a pair; a writer puts another character in its place. */
const HALF_PAIR = /\p{Surrogate}/u;

/** `body`: as its schema types it; `rawBody`: the same in its sender's bytes. Throws MISSING_PARAMETERS, INVALID_PARAMETERS. */
export function readSigningRequest(body: SignBody, rawBody: Buffer): CallerRequest {
  const given = FIELDS.filter((field) => (body[field] ?? null) !== null);
  const [field, ...others] = given;
  if (field === undefined)
    throw new ServiceError("MISSING_PARAMETERS", {
      fields: [{ path: "message", problem: "one of message, messageHex and typedData is required" }],
    });
  if (others.length > 0)
    throw invalidParameters(...others.map((path) => ({ path, problem: `must not be there beside ${field}` })));
  const { message, messageHex, digest } = body;
  if (typeof message === "string") return { kind: "message", bytes: bounded("message", textBytes(message)) };
  if (typeof messageHex === "string") return { kind: "message", bytes: bounded("messageHex", hexBytes(messageHex)) };
  if (typeof digest === "string") return { kind: "digest", digest: hexBytes(digest) };
  const text = memberText(rawBody, "typedData") ?? "";
  bounded("typedData", Buffer.from(text, "utf8"));
  return { kind: "typedData", text };
}

function textBytes(text: string): Uint8Array {
  if (HALF_PAIR.test(text)) throw invalidParameters({ path: "message", problem: "must be well-formed Unicode" });
  return Buffer.from(text, "utf8");
}

function hexBytes(text: string): Uint8Array {
  return Buffer.from(text.slice(2), "hex");
}

function bounded(path: Field, bytes: Uint8Array): Uint8Array {
  if (bytes.length > SIGNED_BYTES_MAX)
    throw invalidParameters({ path, problem: `must have at most ${SIGNED_BYTES_MAX} bytes` });
  return bytes;
}
