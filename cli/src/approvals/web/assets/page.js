// The approvals page.

import "./keys.js";
import { lose, take } from "./queue.js";
import { follow } from "./server.js";
import { closed } from "./views.js";

follow({ board: take, lost: lose, closed });
