//! Attempts to get around the guard, each made for real on files, sockets and processes of the test's own.

mod attempt;
mod calls;
mod deceit;
mod deep;
mod devices;
mod exhausted;
mod faults;
mod files;
mod gateway;
mod inherited;
mod leftovers;
mod listed;
mod machine;
mod moves;
mod network;
mod outside;
mod proc;
mod programs;
mod resources;
mod services;
mod shells;
mod sockets;
mod supervisor;
mod surface;
mod sweep;
mod terminals;
