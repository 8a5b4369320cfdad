// The approvals page.

import "./keys.js";
import { lose, take } from "./queue.js";
import { follow } from "./server.js";
import { closed } from "./views.js";

follow({ snapshot: take, lost: lose, closed });
