/** Scenes about contracts that the service does not follow: it sees what is held of them, and can close none of it. */
import { UNFOLLOWED } from "../four-venues.js";
import { closeAll, readPositions } from "./holdings.js";
import type { Scene } from "./stage.js";

/** Shown where positions are, and never called closed: neither beside others, nor by its name, nor of everything. */
export const unfollowedScene: Scene = {
  positions: { BTC: "0.4", [UNFOLLOWED]: "-25" },
  async play(stage) {
    await readPositions(stage);
    await closeAll(stage, stage.random.next() < 0.5 ? [UNFOLLOWED] : ["ETH", UNFOLLOWED]);
    await closeAll(stage, ["BTC", UNFOLLOWED]);
    await closeAll(stage);
  },
};
