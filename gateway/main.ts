/** The service against the configured venues. */
import { takeEnvironment } from "./app/process-environment.js";
import { loadConfigOrExit, runService } from "./app/run.js";

await runService(loadConfigOrExit(takeEnvironment(process.env)));
