/** The venue's other hosts (sheet section 1): its spot market, which has accounts of money here and no orders, and its web gateway. */
import type { VenueHttp } from "../../shared/net/http.js";
import { HttpPool, type HttpPoolOptions } from "../../shared/net/http-pool.js";

/** Calls with a wallet's signature are rare. Neither host states a limit for them; those that state one grant this. */
export const WEB_CALLS_PER_MINUTE = 60;
/** An account read weighs 5. The host's own budget is not stated; the futures host has more than ten times this. */
export const SPOT_WEIGHT_PER_MINUTE = 180;
/** A call that hangs keeps its connection until its deadline: with one for all, it would hold up everybody's. */
const CONNECTIONS = 8;

export interface HostOptions {
  readonly spotUrl: string;
  readonly spotWeightPerMinute: number;
  readonly webUrl: string;
  readonly webCallsPerMinute: number;
}

export interface OtherHosts {
  readonly spotHttp: VenueHttp;
  readonly webHttp: VenueHttp;
  stop(graceMs: number): Promise<void>;
}

/** All of them at one address, as a venue of one's own may have them. */
export function oneHost(url: string): HostOptions {
  return {
    spotUrl: url,
    spotWeightPerMinute: SPOT_WEIGHT_PER_MINUTE,
    webUrl: url,
    webCallsPerMinute: WEB_CALLS_PER_MINUTE,
  };
}

export function otherHosts(
  { spotUrl, spotWeightPerMinute, webUrl, webCallsPerMinute }: HostOptions,
  { clock, random, logger }: Pick<HttpPoolOptions, "clock" | "random" | "logger">,
): OtherHosts {
  const poolOf = (name: string, baseUrl: string, budget: number): HttpPool =>
    new HttpPool({
      ...{ name: `venuetwo.${name}`, baseUrl, clock, random, logger, budget },
      ...{ budgetWindowMs: 60_000, accountLimits: [], connections: CONNECTIONS, exitConnections: 1 },
    });
  const spot = poolOf("spot", spotUrl, spotWeightPerMinute);
  const web = poolOf("web", webUrl, webCallsPerMinute);
  return {
    spotHttp: spot,
    webHttp: web,
    stop: async (graceMs) => {
      await Promise.all([spot.close(graceMs), web.close(graceMs)]);
    },
  };
}
