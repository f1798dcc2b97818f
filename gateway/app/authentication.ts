/** The proof of callers for the server, over the keys of the administration. */
import type { Clock } from "../../engine/domain/clock.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { HighWaterMark } from "../auth/high-water-mark.js";
import { IpList } from "../auth/ip-list.js";
import { TrustedProxies } from "../auth/proxies.js";
import { ReplayWindow } from "../auth/replay-window.js";
import { RequestAuth } from "../auth/request-auth.js";
import { systemFillRandom } from "../auth/secret-text.js";
import { StreamTickets } from "../auth/tickets.js";
import { StartError } from "../children/start-error.js";
import type { CallerAuth } from "../http/caller.js";
import type { Administration } from "./administration.js";
import type { AccessConfig } from "./config-access.js";
import type { ServiceLogger } from "./log.js";

export interface Authentication extends CallerAuth {
  /** Once no request is accepted any more: the next start then refuses no write that is new. */
  stop(): Promise<void>;
}

export interface AuthenticationParts {
  readonly store: StateStore;
  readonly access: Pick<AccessConfig, "authMode" | "trustedProxies">;
  readonly administration: Pick<Administration, "table" | "audit">;
  readonly clock: Clock;
  readonly logger: ServiceLogger;
}

/** Rejects with STORE_UNAVAILABLE: without the mark of accepted writes none can be accepted. */
export async function openAuthentication(parts: AuthenticationParts): Promise<Authentication> {
  const { store, access, administration, clock, logger } = parts;
  const { table } = administration;
  const mark = await HighWaterMark.open(store, clock, logger);
  const authenticator = new RequestAuth({
    ...{ mode: access.authMode, keys: table, clock, mark, fillRandom: systemFillRandom },
    replays: new ReplayWindow(),
    onAddressRefused: (keyId, address) => noteAddress(parts, keyId, address),
  });
  const proxies = trustedProxies(access.trustedProxies);
  return {
    authenticator,
    tickets: new StreamTickets(table, clock, systemFillRandom),
    revocations: table,
    ...(proxies === null
      ? {}
      : { addressOf: (socket: string, forwardedFor: string) => proxies.callerOf(socket, forwardedFor) }),
    stop: () => mark.stop(),
  };
}

function noteAddress({ administration, logger }: AuthenticationParts, keyId: string, address: string): void {
  administration.audit
    .append({ who: keyId, what: "key.address", subject: keyId, outcome: "refused", details: { address } })
    .catch(() => logger.warn("auth.audit_failed", { code: "IP_NOT_ALLOWED" }));
}

function trustedProxies(entries: readonly string[]): TrustedProxies | null {
  if (entries.length === 0) return null;
  const list = IpList.parse(entries);
  if (typeof list === "number")
    throw new StartError([`TRUSTED_PROXIES: ${JSON.stringify(entries[list])} is no address and no CIDR block`]);
  return new TrustedProxies(list);
}
