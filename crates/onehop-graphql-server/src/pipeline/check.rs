//! Check: everything that can be known of a request before its document is validated: which operation runs,
//! whether its variables fit, and how complex it is.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{Name, ServerError};

use super::context::{CallerRequest, RequestContext};
use super::parse::RequestParameters;
use super::prepare::{Preparation, PreparationWork};
use super::resolve::{DocumentReference, ReferencedDocument};
use crate::document::{Document, DocumentError};
use crate::document_cache::Documents;
use crate::endpoint::GraphqlEndpoint;
use crate::refusal::Refusal;
use crate::trusted_documents::DocumentHash;

/// A document that was found.
struct ResolvedDocument {
    /// The text as the client sent it, now or before.
    text: String,
    document: Arc<Document>,
    /// By which it is to be registered once it is known to be good.
    registers: Option<DocumentHash>,
}

impl GraphqlEndpoint {
    /// Resolves the document of a request, and checks the request but for validation of its selections.
    /// Returns the hash under which the document is to be registered, if the client asks for that.
    ///
    /// # Errors
    /// There is no such document or operation, a limit is exceeded, a variable does not fit, or a mutation
    /// came by GET.
    pub(crate) async fn check(
        &self,
        request: CallerRequest,
        parameters: RequestParameters,
        preparation: &mut Preparation<'_>,
    ) -> Result<(RequestContext, Option<DocumentHash>), Refusal> {
        let RequestParameters { request: mut asked, reference } = parameters;
        let ResolvedDocument { text, document, registers } = self.resolve(reference, preparation).await?;
        asked.query = text;
        let is_read_only = request.is_read_only;
        let mut context = request.with_document(document, asked)?;
        if is_read_only && context.kind() == OperationType::Mutation {
            return Err(Refusal::MutationOverGet);
        }
        context.forget_undefined_variables();
        if context.wants_live() && !self.schema().serves_live() {
            let error = ServerError::new("Unknown directive \"live\".", None);
            return Err(context.invalid(vec![error]));
        }
        let (operation, variables) = (context.operation(), &context.request.variables);
        let checked = self.schema().check_variables(&operation.variable_definitions, variables);
        checked.map_err(|errors| context.invalid(errors))?;
        let document = &context.document;
        document.look_at_nested_variables(|definitions| self.schema().nested_variables_fit(definitions));
        let complexity = self.service().complexity(document, operation, variables);
        context.complexity = complexity.map_err(|error| context.invalid(vec![error]))?;
        if context.document.size.introspects {
            preparation.work(PreparationWork::introspecting(context.complexity)).await?;
        }
        Ok((context, registers))
    }

    /// The document that a request refers to. A document that is not in the cache is parsed, which is
    /// charged.
    ///
    /// # Errors
    /// There is no such document, it is beyond a limit, or it does not parse.
    async fn resolve(
        &self,
        reference: DocumentReference,
        preparation: &mut Preparation<'_>,
    ) -> Result<ResolvedDocument, Refusal> {
        // A text beyond the limit is not even hashed.
        if let Some(text) = &reference.text {
            self.documents().limits().check_bytes(text.len()).map_err(DocumentError::from)?;
        }
        let (text, registers) = match self.persisted().find(reference).map_err(Refusal::Persisted)? {
            ReferencedDocument::Parsed { text, document } => {
                return Ok(ResolvedDocument { text, document, registers: None });
            }
            ReferencedDocument::Sent { text, registers } => (text, registers),
            ReferencedDocument::Registered { text } => {
                preparation.work(PreparationWork::decoding(text.len())).await?;
                (text.as_ref().to_owned(), None)
            }
        };
        let document = self.parse_document(self.documents(), &text, preparation).await?;
        Ok(ResolvedDocument { text, document, registers })
    }

    /// The document of a text, from its cache, or parsed in its turn.
    pub(crate) async fn parse_document(
        &self,
        documents: &Documents,
        text: &str,
        preparation: &mut Preparation<'_>,
    ) -> Result<Arc<Document>, Refusal> {
        let normal = documents.limits().normalize(text).map_err(DocumentError::from)?;
        if let Some(document) = documents.find(&normal) {
            return Ok(document);
        }
        preparation.work(PreparationWork::parsing(normal.tokens())).await?;
        Ok(documents.add(normal).map_err(|error| error.in_original(text))?)
    }
}

impl RequestContext {
    /// Drops the values of variables that the operation does not define: GraphQL ignores them, and requests
    /// that differ in nothing else are equal.
    fn forget_undefined_variables(&mut self) {
        let definitions = &self.operation().variable_definitions;
        let is_defined = |name: &Name| definitions.iter().any(|defined| defined.node.name.node == *name);
        let undefined = self.request.variables.keys().filter(|name| !is_defined(name)).cloned();
        for name in undefined.collect::<Vec<_>>() {
            self.request.variables.remove(&name);
        }
    }
}
