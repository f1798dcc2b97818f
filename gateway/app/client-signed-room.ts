/** Makes the client-signed venue of the configuration: its room over its endpoints, with the index of events in the store. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { type VenuefiveConfig, venuefiveRoom } from "../../feeds/venuefive/descriptor.js";
import type { ClientSignedVenueParts } from "../api/routes/context.js";

interface MakerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Returns null where it is not configured. */
export function createClientSigned(
  config: VenuefiveConfig | null,
  parts: MakerParts,
  store: StateStore,
): ClientSignedVenueParts | null {
  if (config === null) return null;
  return { room: venuefiveRoom(config, { ...parts, store }), symbols: config.map.symbols };
}
