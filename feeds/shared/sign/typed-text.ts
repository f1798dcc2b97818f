/**
 * Typed data (EIP-712) as the JSON text that a wallet's signer reads. The domain's type is written out, so no reader has to
 * derive it.
 */
import { DOMAIN_FIELDS, type TypedDomain, type TypedField, type TypedValue } from "./eip712.js";

/** `message` has exactly the fields; whole numbers above 2^53 are bigints. */
export function typedDataText(
  domain: TypedDomain,
  primaryType: string,
  fields: readonly TypedField[],
  message: Readonly<Record<string, TypedValue>>,
): string {
  const values = fields.map(({ name }) => [name, jsonValue(message[name])] as const);
  return JSON.stringify({
    types: { EIP712Domain: DOMAIN_FIELDS, [primaryType]: fields },
    primaryType,
    domain,
    message: Object.fromEntries(values),
  });
}

function jsonValue(value: TypedValue | undefined): string | number | boolean {
  if (value === undefined) throw new TypeError("a field of the typed data is missing");
  return typeof value === "bigint" ? String(value) : value;
}
