//! Tests of the helpdesk: its functions, its webhook, and the document that walks through it.

mod desk;
mod document;
mod webhook;
