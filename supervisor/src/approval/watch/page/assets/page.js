// The approvals page.

import "./keys.js";
import { by } from "./dom.js";
import { lose, take } from "./queue.js";
import { follow } from "./server.js";
import { closed } from "./views.js";

follow({
  board(time, board) {
    by("state").textContent = "connected";
    take(time, board);
  },
  lost() {
    by("state").textContent = "no connection";
    lose();
  },
  closed() {
    lose();
    closed();
  },
});
