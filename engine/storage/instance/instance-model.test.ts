/**
 * The count of an instance as a model: lives that end at each of their acts (commits, writes of the file, messages to the
 * co-signer), backups taken at any of those moments, and stores put back later. The judge knows what was sent.
 */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { silentLogger } from "../../domain/logger.js";
import { ServiceError } from "../../domain/errors.js";
import { encodeJson, type StateStore } from "../state-store.js";
import { createMemoryStore, type MemoryRows } from "../test/memory-store.js";
import { type Death, MortalLife } from "../test/mortal-life.js";
import type { CountFile } from "./instance-file.js";
import { Instance } from "./instance.js";
import type { FileReading, InstanceCount } from "./instance-mark.js";
