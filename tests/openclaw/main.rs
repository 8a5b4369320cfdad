//! The guard and real gateways of OpenClaw, of two releases. Only `make test-full` runs these.

mod harness;
