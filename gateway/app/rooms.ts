/** Creates the venue rooms that the configuration names, with its limits, fees and addresses. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Random } from "../../engine/domain/random.js";
import type { MarketRoom, NonceReservations } from "../../engine/ports.js";
import type { Config } from "./config.js";
import type { ServiceLogger } from "./log.js";

export function createRooms(
  config: Pick<Config, "symbols" | "venues">,
  clock: Clock,
  random: Random,
  logger: ServiceLogger,
  nonces: NonceReservations,
): MarketRoom[] {
  const symbols = config.symbols.length === 0 ? ("all" as const) : config.symbols;
  return config.venues
    .filter(({ enabled }) => enabled)
    .map((venue) => venue.createRoom({ clock, random, logger, nonces, symbols }));
}
