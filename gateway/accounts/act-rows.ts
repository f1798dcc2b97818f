/** What requests to the signers of wallets leave in the audit log: one row of what was done, refused or failed. */
import { type ErrorCode, type ErrorContext, ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";

export interface WalletAct {
  /** A key id; `local` without a key. */
  readonly who: string;
  readonly what: "wallet.create" | "wallet.sign" | "venue-key.register" | "venue-key.rotate" | "venue-key.revoke";
  /** Wallet id; "" where none was made. */
  readonly subject: string;
  /** `pending`: an outside signer, or the venue, may have it, and has not said what it came to. */
  readonly outcome: "done" | "refused" | "failed" | "pending";
  readonly details: Readonly<Record<string, string | boolean>>;
}

/** Durable when it resolves. */
export type AppendAct = (act: WalletAct) => Promise<void>;

/** Of an act, before it is known what it came to. */
type Begun = Pick<WalletAct, "who" | "what" | "subject" | "details">;

/** Of a request that asked for what cannot be: the signers did nothing. */
const LEAVES_NO_ROW: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "INVALID_PARAMETERS",
  "WALLET_EXISTS",
  "WALLET_NOT_FOUND",
  "API_KEY_EXISTS",
  "API_KEY_NOT_FOUND",
  "API_KEY_LIMIT",
]);
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "POLICY_REFUSED",
  "DESTINATION_NOT_ALLOWED",
  "WALLET_FROZEN",
  "RESTORED_STORE",
  "ACCOUNT_NOT_FUNDED",
  "REGISTRATION_REJECTED",
]);

export class ActRows {
  readonly #append: AppendAct;
  readonly #logger: Logger;

  constructor({ appendAct, logger }: { readonly appendAct: AppendAct; readonly logger: Logger }) {
    this.#append = appendAct;
    this.#logger = logger;
  }

  /** Leaves the row of a refusal; returns what the caller gets. `otherwise`: for what is no ServiceError. */
  async refused(error: unknown, otherwise: ErrorCode, { details, ...act }: Begun): Promise<ServiceError> {
    const refusal = error instanceof ServiceError ? error : new ServiceError(otherwise, {}, { cause: error });
    const { code, context } = refusal;
    if (!(error instanceof ServiceError))
      this.#logger.error("wallets.failed", {
        what: act.what,
        errorName: error instanceof Error ? error.name : "unknown",
      });
    if (LEAVES_NO_ROW.has(code)) return refusal;
    const named = textsOf(context, ["rule", "signerRequestId"]);
    const isOpen = code === "APPROVAL_PENDING" || context["isUnsettled"] === true;
    const outcome = isOpen ? "pending" : REFUSALS.has(code) ? "refused" : "failed";
    await this.appendOrLog({ ...act, outcome, details: { ...details, code, ...named } });
    return refusal;
  }

  /** What was done is done whether or not its row is: a failure is logged. */
  async appendOrLog(act: WalletAct): Promise<void> {
    try {
      await this.#append(act);
    } catch (error) {
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#logger.error("wallets.audit_failed", { what: act.what, errorName });
    }
  }
}

/** Who asked, as the audit log names him. */
export function whoOf(keyId: string | null): string {
  return keyId ?? "local";
}

function textsOf(context: ErrorContext, names: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = context[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
}
