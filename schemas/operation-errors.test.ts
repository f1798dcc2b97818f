/** Every operation as a reader of /openapi.json meets it: what it does, and by which codes it refuses. */
import { describe, expect, it } from "vitest";
import { ERROR_CODES, type ErrorCode, ServiceError } from "../engine/domain/errors.js";
import { buildOpenApi } from "./openapi.js";

const operations = Object.entries(buildOpenApi().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
);
const CODE = /\b[A-Z]+(?:_[A-Z]+)+\b|\bINTERNAL\b|\bOVERLOADED\b/g;

/** Of deposits, withdrawals and transfers (engine/transfers), whose operations are not published yet. */
const OF_TRANSFERS: readonly ErrorCode[] = [
  "CHAIN_UNAVAILABLE",
  "DEPOSIT_BELOW_MINIMUM",
  "FAILED_TO_DEPOSIT",
  "FAILED_TO_TRANSFER",
  "FAILED_TO_WITHDRAW",
  "INSUFFICIENT_BALANCE",
  "INSUFFICIENT_GAS",
  "LEDGER_BROKEN",
  "RECEIVER_MISMATCH",
  "TRANSFER_IN_PROGRESS",
  "TRANSFER_NAME_USED",
  "TRANSFER_NOT_FOUND",
];

/** Met by frames of the stream, by the administration of keys, at the start, or where no operation is: a path or a method that does not exist. */
const OF_NO_OPERATION: readonly ErrorCode[] = [
  ...OF_TRANSFERS,
  "AUTH_BAD_TICKET",
  "AUTH_REQUIRED",
  "BAD_FRAME",
  "KEY_LIMIT",
  "KEY_NOT_FOUND",
  "LOCAL_ROWS_ADOPTED",
  "METHOD_NOT_ALLOWED",
  "SEAL_KEY_REFUSED",
  "SUBSCRIPTION_LIMIT",
  "UNKNOWN_SUBSCRIPTION",
  "UPGRADE_REQUIRED",
];

function refusalsOf(operation: Readonly<Record<string, unknown>>): { status: number; codes: string[] }[] {
  const responses = Object.entries(operation["responses"] as Record<string, { description: string }>);
  return responses
    .filter(([status]) => status !== "200")
    .map(([status, { description }]) => ({ status: Number(status), codes: description.match(CODE) ?? [] }));
}

describe("the operations of /openapi.json", () => {
  it.each(operations)("$name is described, beyond its summary", ({ operation }) => {
    const { description, summary } = operation as { description?: string; summary: string };
    expect(description).toMatch(/^[A-Z`].{39,}\.$/s);
    expect(description).not.toContain(summary);
  });

  it.each(operations)("$name says of each error by which codes it is known", ({ operation }) => {
    const refusals = refusalsOf(operation);
    expect(refusals.length).toBeGreaterThan(3);
    for (const { status, codes } of refusals) {
      expect(codes, String(status)).not.toEqual([]);
      const known = codes.filter((code): code is ErrorCode => ERROR_CODES.some((one) => one === code));
      expect(known).toEqual(codes);
      expect(
        known.map((code) => [code, new ServiceError(code).status]),
        String(status),
      ).toEqual(known.map((code) => [code, status]));
    }
  });

  it("name every code that a route can answer", () => {
    const named = new Set(operations.flatMap(({ operation }) => refusalsOf(operation).flatMap(({ codes }) => codes)));
    expect(ERROR_CODES.filter((code) => !named.has(code)).sort()).toEqual([...OF_NO_OPERATION].sort());
  });
});
