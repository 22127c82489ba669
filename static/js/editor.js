// Small comforts of the editors' pages. Everything works without them.
"use strict";
