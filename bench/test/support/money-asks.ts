/** Requests of the money routes, and rows of the ledger as callers see them. */
import { expect } from "vitest";
import type { Reply } from "../../../gateway/test/client.js";
import { toldBy, type WalletCaller, type WalletFields } from "./custody-bench.js";
import { found } from "./system.js";

export type Fields = Readonly<Record<string, unknown>>;

export interface Ask {
  readonly path: string;
  readonly body: Fields;
  readonly headers: Readonly<Record<string, string>>;
}

interface StepFields {
  readonly name: string;
  readonly txHash: string | null;
  readonly nonce: number;
  readonly versions: number;
  readonly confirmations: number;
  readonly isFinal: boolean;
  readonly succeeded: boolean | null;
  readonly gasCost: string | null;
}

export interface RowFields {
  readonly transferId: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  readonly reasonText: string;
  readonly amount: string;
  readonly venueId: string | null;
  readonly isCreditAwaited: boolean;
  readonly payout: string | null;
  readonly paid: string | null;
  readonly txHash: string | null;
  readonly steps: readonly StepFields[];
}

export const fieldsOf = ({ body }: Reply): Fields & { readonly data: Fields } =>
  body as unknown as Fields & { readonly data: Fields };
/** Status, code and text. */
export const refusalOf = (reply: Reply): readonly unknown[] => [
  reply.status,
  toldBy(reply).code,
  fieldsOf(reply)["error"],
];
export const codeOf = (reply: Reply): readonly unknown[] => [reply.status, toldBy(reply).code];
export const reasonOf = (reply: Reply): unknown => toldBy(reply).details?.["reason"];

export function done(reply: Reply): Fields {
  expect([reply.status, toldBy(reply).code ?? "ok"], reply.text).toEqual([200, "ok"]);
  return fieldsOf(reply).data;
}

export const asked = (caller: WalletCaller, { path, body, headers }: Ask): Promise<Reply> =>
  caller.post(path, body, headers);

export async function rowOf(caller: WalletCaller, transferId: unknown): Promise<RowFields> {
  return done(await caller.ask(`/api/transfers/${String(transferId)}`)) as unknown as RowFields;
}

export async function rowsOf(caller: WalletCaller, { walletId }: WalletFields): Promise<readonly RowFields[]> {
  const { transfers } = done(await caller.ask(`/api/wallets/${walletId}/transfers`));
  return transfers as readonly RowFields[];
}

/** The wallet's only row, once it holds of it. */
export function rowWhen(
  caller: WalletCaller,
  wallet: WalletFields,
  what: string,
  holds: (row: RowFields) => boolean,
): Promise<RowFields> {
  let last: RowFields | undefined;
  const look = async (): Promise<RowFields | null> => {
    [last] = await rowsOf(caller, wallet);
    return last !== undefined && holds(last) ? last : null;
  };
  return found(() => `${what}: ${JSON.stringify(last)}`, look);
}
