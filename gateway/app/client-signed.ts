/** The venue whose orders its callers sign, started beside the others: it delays none of them, and its failure ends nothing. */
import type { Clock } from "../../engine/domain/clock.js";
import { within } from "../../engine/domain/deadline.js";
import { ChainPortfolio } from "../../engine/portfolio/chain-portfolio.js";
import type { ClientSignedVenueParts } from "../api/routes/context.js";
import type { ServiceLogger } from "./log.js";

/** What the server is given of it. */
export interface ServedClientSigned {
  readonly clientSigned?: ClientSignedVenueParts;
  readonly chain?: ChainPortfolio;
}

interface StartParts {
  readonly clock: Clock;
  readonly logger: ServiceLogger;
  readonly undo: (() => Promise<void>)[];
}

/** How long the service waits for its first look at the chain before it listens anyway. */
const FIRST_LOOK_WAIT_MS = 5_000;

/** `made`: null where it is not configured. */
export async function startClientSigned(
  made: ClientSignedVenueParts | null,
  { clock, logger, undo }: StartParts,
): Promise<ServedClientSigned> {
  if (made === null) return {};
  const { room } = made;
  undo.push(() => room.stop());
  const chain = new ChainPortfolio({ room, clock, logger });
  undo.push(async () => chain.stop());
  try {
    await within(clock, room.start(), FIRST_LOOK_WAIT_MS);
  } catch (error) {
    // Its reads say what they lack; the others trade on.
    const errorName = error instanceof Error ? error.name : "unknown";
    logger.error("room.start_failed", { venue: room.venue, errorName });
  }
  return { clientSigned: made, chain };
}
