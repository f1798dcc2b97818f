/** The scenes of the simulation, by the kind that names them in a workload. */
import {
  agentScene,
  cancelScene,
  closeAllScene,
  keyScene,
  misplacedScene,
  switchScene,
  thinScene,
} from "./accounts.js";
import { bareScene, protectScene } from "./entries.js";
import { allScene, outsideScene, ownScene } from "./holdings.js";
import { limitScene, reachedCloseScene, reachedEntryScene, refusedStopScene, endedStopScene } from "./later.js";
import { listedScene, singleScene } from "./orders.js";
import { bandScene, quoteScene, retryScene, splitScene, stopScene } from "./prices.js";
import { reduceOnlyScene, splitGoneScene } from "./reduce-only.js";
import { unfollowedScene } from "./unfollowed.js";
import type { Scene } from "./stage.js";

export const SCENES = {
  stop: stopScene,
  band: bandScene,
  retry: retryScene,
  quote: quoteScene,
  split: splitScene,
  protect: protectScene,
  limit: limitScene,
  bare: bareScene,
  outside: outsideScene,
  own: ownScene,
  all: allScene,
  reduceOnly: reduceOnlyScene,
  closeAll: closeAllScene,
  cancel: cancelScene,
  switch: switchScene,
  agent: agentScene,
  key: keyScene,
  splitGone: splitGoneScene,
  thin: thinScene,
  misplaced: misplacedScene,
  unfollowed: unfollowedScene,
  single: singleScene,
  listed: listedScene,
  reachedEntry: reachedEntryScene,
  reachedClose: reachedCloseScene,
  refusedStop: refusedStopScene,
  endedStop: endedStopScene,
} as const satisfies Readonly<Record<string, Scene>>;

export type SceneKind = keyof typeof SCENES;
export const SCENE_KINDS = Object.keys(SCENES) as readonly SceneKind[];
