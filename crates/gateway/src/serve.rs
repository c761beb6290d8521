//! The gateway behind a listener.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Request, Response};
use listen::{HttpRefusal, RequestBody, RequestId, Serve};

use crate::refusal::{Echo, Reason, Refusal};
use crate::{Body, Gateway, rpc};

impl Serve for Gateway {
    type Body = Body;

    fn serve(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        peer: IpAddr,
    ) -> impl Future<Output = Response<Body>> + Send {
        rpc::handle(self, request, peer)
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        self.state().settings.clients.is_proxy(peer)
    }

    fn refuse_further(&self) {
        self.set_refusing(true);
    }

    fn http_refusal(&self) -> HttpRefusal {
        let reason = Reason::InvalidRequest;
        self.metrics().refusal(reason);
        HttpRefusal {
            content_type: "application/json",
            request_id: RequestId::new().to_string(),
            body: Refusal::saying(reason, "not an HTTP request that can be read")
                .body(Echo::default()),
        }
    }
}
