/** Scenes about contracts that the service does not follow: it sees the holdings, and can close none of them. */
import { UNFOLLOWED } from "../four-venues.js";
import { closeAll, readPositions } from "./holdings.js";
import type { Scene } from "./stage.js";

/** Positions show it, and no reply calls it closed: not beside others, not by its name, not as part of everything. */
export const unfollowedScene: Scene = {
  positions: { BTC: "0.4", [UNFOLLOWED]: "-25" },
  async play(stage) {
    await readPositions(stage);
    await closeAll(stage, stage.random.next() < 0.5 ? [UNFOLLOWED] : ["ETH", UNFOLLOWED]);
    await closeAll(stage, ["BTC", UNFOLLOWED]);
    await closeAll(stage);
  },
};
