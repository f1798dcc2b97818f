/** The venue rooms that the configuration asks for, with its limits, fees and addresses. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Random } from "../../engine/domain/random.js";
import type { MarketRoom, NonceReservations } from "../../engine/ports.js";
import { createVenuefourRoom } from "../../feeds/venuefour/room.js";
import { createVenueoneRoom } from "../../feeds/venueone/room.js";
import { createVenuethreeRoom } from "../../feeds/venuethree/room.js";
import { createVenuetwoRoom } from "../../feeds/venuetwo/room.js";
import type { Config, VenueConfig } from "./config.js";
import type { ServiceLogger } from "./log.js";

export function createRooms(
  config: Config,
  clock: Clock,
  random: Random,
  logger: ServiceLogger,
  nonces: NonceReservations,
): MarketRoom[] {
  const common = {
    clock,
    random,
    logger,
    nonces,
    symbols: config.symbols.length === 0 ? ("all" as const) : config.symbols,
  };
  const connection = ({ restUrl, wsUrl, fees }: Omit<VenueConfig, "isMainnet">) => ({
    restUrl,
    wsUrl,
    ...(fees === null ? {} : { fees }),
  });
  const rooms: MarketRoom[] = [];
  if (config.venueone.enabled) {
    const { restWeightPerMinute, httpConnections } = config.venueone;
    rooms.push(
      createVenueoneRoom({
        ...common,
        ...connection(config.venueone),
        isMainnet: config.venueone.isMainnet,
        limits: { restWeightPerMinute, httpConnections },
      }),
    );
  }
  if (config.venuetwo.enabled) {
    const { restWeightPerMinute: weightPerMinute, httpConnections } = config.venuetwo;
    const { perMinute: ordersPerMinute, per10Seconds: ordersPer10Seconds } = config.venuetwoOrderLimits;
    rooms.push(
      createVenuetwoRoom({
        ...common,
        ...connection(config.venuetwo),
        isMainnet: config.venuetwo.isMainnet,
        streamHostLayout: config.venuetwoStreamLayout,
        limits: { weightPerMinute, ordersPerMinute, ordersPer10Seconds, httpConnections },
      }),
    );
  }
  if (config.venuethree.enabled) {
    const { restWeightPerMinute: restPerMinute, httpConnections } = config.venuethree;
    rooms.push(
      createVenuethreeRoom({
        ...common,
        ...connection(config.venuethree),
        tier: config.venuethreeTier,
        limits: { httpConnections, ...(restPerMinute === 0 ? {} : { restPerMinute }) },
      }),
    );
  }
  if (config.venuefour.enabled) {
    const { restWeightPerMinute: creditsPerMinute, httpConnections } = config.venuefour;
    rooms.push(
      createVenuefourRoom({
        ...common,
        ...connection(config.venuefour),
        limits: { creditsPerMinute, httpConnections },
      }),
    );
  }
  return rooms;
}
